"""Routes of /datasets. Decisions are in `datasets.py`."""

from typing import Annotated, Any

from fastapi import APIRouter, Response, status
from starlette.responses import JSONResponse

from app.errors import BadRequest
from app.selections import datasets as service
from app.selections.datasets import DatasetBody, DatasetOut, DatasetPage, StoredDataset
from app.selections.parts import COLUMN_PARTS, LABELLED_FILE, describe_form, describe_upload
from app.selections.receiving import Upload, receive
from app.store import datasets as repository
from app.web.dependencies import OWNER_ROUTE, OwnerDep, PageDep, SessionDep, make_id_reader
from app.web.openapi import refusals, sends

DatasetIdDep = Annotated[str, make_id_reader("dataset", "ds")]

MODELS = (DatasetBody,)
SCHEMAS = describe_form(
    "DatasetForm",
    "The form of POST /datasets: labelled texts as a file.",
    {"dataset": LABELLED_FILE},
    required=("dataset",),
)
_EXAMPLE = {"examples": [{"text": "A fine film", "label": "good"}, {"text": "A dull film", "label": "bad"}]}

STORED_DATASET = "The stored dataset. `Location` is its address."
STORED: dict[int | str, dict[str, Any]] = {
    200: {"model": DatasetOut, "description": "Equal rows were stored already; this is their dataset."},
    201: sends("Location"),
}
"""OpenAPI entries of a route that stores a dataset."""

router = APIRouter(prefix="/datasets", tags=["datasets"], dependencies=OWNER_ROUTE)


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    response_model=DatasetOut,
    response_description=STORED_DATASET,
    responses={**STORED, **refusals(400, 401, 413, 415, 422, 503)},
    openapi_extra=describe_upload("DatasetForm", {"dataset": "reviews.csv"}, DatasetBody, _EXAMPLE),
)
def store_dataset(upload: Annotated[Upload, receive("dataset", *COLUMN_PARTS)]) -> Response:
    """Store labelled texts, for submissions that name them by `dataset_id`. Equal rows are stored once."""
    return answer_stored(upload.do(service.store))


def answer_stored(stored: StoredDataset) -> Response:
    code = status.HTTP_201_CREATED if stored.is_new else status.HTTP_200_OK
    return JSONResponse(stored.answer, code, {"Location": f"/datasets/{stored.answer['id']}"})


@router.get("", response_description="One page of datasets.", responses=refusals(400, 401, 503))
def list_datasets(session: SessionDep, owner: OwnerDep, page: PageDep) -> DatasetPage:
    """List your datasets, newest first, also those that came with a submission."""
    if page.last_id is not None and not page.last_id.startswith("ds_"):
        raise BadRequest("the cursor does not belong to a list of datasets", code="invalid-cursor")
    found = repository.list_datasets(session, owner, page.last_id, page.limit)
    datasets, cursor = page.cut(found, lambda one: one.id)
    return DatasetPage(items=list(map(service.present, datasets)), next=cursor)


@router.get("/{dataset_id}", response_description="The dataset.", responses=refusals(400, 401, 404, 503))
def get_dataset(dataset_id: DatasetIdDep, session: SessionDep, owner: OwnerDep) -> DatasetOut:
    """Return what is known of a dataset."""
    return service.present(service.get(session, owner, dataset_id))


@router.delete(
    "/{dataset_id}",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    response_description="The dataset was deleted.",
    responses=refusals(400, 401, 404, 503, conflict="A job uses the dataset."),
)
def delete_dataset(dataset_id: DatasetIdDep, session: SessionDep, owner: OwnerDep) -> None:
    """Delete a dataset that no job uses."""
    service.delete(session, owner, dataset_id)
