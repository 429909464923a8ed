"""Routes of the examples of a name: rows are added to its pool and taken out. Decisions are in `examples.py`."""

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Path, Query, Request, Response, status
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from app.datasets.schemas import DatasetOut
from app.dependencies import OWNER_ROUTE, Page, PageDep
from app.ids import encode_cursor
from app.intake.receiving import do_large
from app.prompts.asking import READ, AskedDep, ChangeDep, NameDep, present
from app.prompts.dataset import copy_examples
from app.prompts.examples import Learning
from app.prompts.pools import VersionedPool
from app.prompts.schemas import MOST_ADDED, ExamplesBody, Note, PromptExampleOut, PromptExamplePage, PromptVersionOut
from app.prompts.service import NamedAnswers
from app.selections.indexes import Indexes, IndexesDep
from app.store.tables import PromptVersion
from app.web.etag import version_etag
from app.web.openapi import named, refusals, sends
from app.web.parameters import read_last_number
from app.web.rate_limits import SUBMISSION_LIMIT
from app.web.request_body import MOST_CONTAINERS, json_body
from lens_engine.retrieval.pool import Pool

router = APIRouter(prefix="/prompts", tags=["prompts"], dependencies=OWNER_ROUTE)

_NO_POOL = "The prompts of this name find no examples for an input."
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": named(ExamplesBody)}}}}
_CHANGED: dict[int | str, dict[str, Any]] = {200: sends("ETag")}

BodyDep = Annotated[ExamplesBody, Depends(json_body(ExamplesBody, most_objects=MOST_CONTAINERS + MOST_ADDED))]
RowDep = Annotated[int, Path(ge=0, le=2**31 - 1, description="Number of a row of the pool.")]


async def get_learning(change: ChangeDep, indexes: IndexesDep) -> Learning:
    return Learning(change, indexes)


LearningDep = Annotated[Learning, Depends(get_learning)]


@router.get(
    "/{name}/examples",
    response_model=PromptExamplePage,
    response_description="One page of rows.",
    responses=READ,
)
async def list_prompt_examples(asked: AskedDep, indexes: IndexesDep, page: PageDep) -> Response:
    """List the pool of a name: the labelled rows in which its prompts find the demonstrations of an input."""
    last = read_last_number(page.last_id, 9, "cursor", "examples")
    found = await run_in_threadpool(asked.read)
    if isinstance(found, Response):
        return found
    listed = None if found.pool is None else await run_in_threadpool(_read_rows, indexes, found.pool)
    return asked.answer_with(found, _show_page(found, listed, page, last))


class _Listed(NamedTuple):
    """The rows of a pool, and the number from which added ones are counted."""

    pool: Pool
    first_added: int


def _read_rows(indexes: Indexes, versioned: VersionedPool) -> _Listed:
    with versioned.services.database.session_scope() as session:
        first_added = versioned.find_first_added(session)
    return _Listed(indexes.held(versioned.source.key) or versioned.load(), first_added)


def _show_page(found: NamedAnswers, listed: _Listed | None, page: Page, last: int | None) -> PromptExamplePage:
    if listed is None:
        return PromptExamplePage(**found.about, pool_rows=None, items=[], next=None)
    pool, first_added = listed
    rows = [row for row in pool.rows if last is None or row.row > last]
    items = [
        PromptExampleOut(row=one.row, text=one.text, label=one.label, added=one.row >= first_added)
        for one in rows[: page.limit]
    ]
    follow = encode_cursor(str(items[-1].row)) if len(rows) > page.limit else None
    return PromptExamplePage(**found.about, pool_rows=len(pool.rows), items=items, next=follow)


@router.post(
    "/{name}/examples",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    dependencies=[SUBMISSION_LIMIT],
    responses={
        **_CHANGED,
        **refusals(
            *(400, 401, 404, 412, 413, 415, 422, 428, 503),
            conflict=f"{_NO_POOL} Or a row contradicts one of the pool, which `errors` names.",
        ),
    },
    openapi_extra=_BODY,
)
def add_prompt_examples(learning: LearningDep, body: BodyDep) -> Response:
    """Add labelled rows to the pool of a name. The next prompt may show them.

    The change is a version of the name, and `If-Match` says which version it changes. A version before it has the pool
    as it was.
    """
    return _answer(learning.add(body))


@router.delete(
    "/{name}/examples/{row}",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    dependencies=[SUBMISSION_LIMIT],
    responses={
        **_CHANGED,
        **refusals(*(400, 401, 404, 412, 413, 428, 503), conflict=f"{_NO_POOL} Or the prompt needs the row."),
    },
)
def take_prompt_example_out(
    learning: LearningDep,
    row: RowDep,
    note: Annotated[Note | None, Query(description="Why it is taken out, for the history of the name.")] = None,
) -> Response:
    """Take a row out of the pool of a name. No later prompt shows it. The change is a version of the name."""
    return _answer(learning.take_out(row, note))


def _answer(version: PromptVersion) -> Response:
    return JSONResponse(present(version).model_dump(mode="json"), headers={"ETag": version_etag(version.version)})


@router.post(
    "/{name}/dataset",
    status_code=status.HTTP_201_CREATED,
    response_model=DatasetOut,
    response_description="The stored dataset. `Location` is its address.",
    dependencies=[SUBMISSION_LIMIT],
    responses={
        200: {"model": DatasetOut, "description": "Equal rows were stored already; this is their dataset."},
        201: sends("Location"),
        **refusals(400, 401, 404, 413, 503, conflict=_NO_POOL),
    },
)
async def store_prompt_dataset(request: Request, name: NameDep) -> Response:
    """Store the pool of a name and its support examples as a dataset, from which a new selection can start."""
    stored = await do_large(request, copy_examples, name)
    code = status.HTTP_201_CREATED if stored.is_new else status.HTTP_200_OK
    return JSONResponse(stored.answer, code, {"Location": f"/datasets/{stored.answer['id']}"})
