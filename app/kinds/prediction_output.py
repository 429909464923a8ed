"""The output of a prediction, and how many of them one process writes at the same time: each has a page of rows in
memory."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import StreamingResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, ServicesDep, make_id_reader
from app.errors import Busy, TooManyOutputs
from app.jobs import service
from app.kinds.prediction_schemas import OutputSpec
from app.store.rows import read_answered
from app.store.states import Status
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, is_known, make_etag
from app.web.openapi import not_modified, refusals, sends
from lens_engine.evaluation.table import MEDIA_TYPES, PredictedTable, TableFormat, write_table

MOST_OUTPUTS, MOST_OF_OWNER = 16, 2
_RETRY_AFTER_SECONDS = 5

_OUTPUT: dict[str, Any] = {
    "description": "The file.",
    "content": {one.partition(";")[0]: {"schema": {"type": "string"}} for one in MEDIA_TYPES.values()},
    **sends("ETag", "Content-Disposition"),
}
router = APIRouter(tags=["predictions"], dependencies=OWNER_ROUTE)


class Outputs:
    """The outputs that clients are reading. All calls must come from the event loop of the process."""

    def __init__(self) -> None:
        self._open = Counter[str]()

    @contextmanager
    def hold(self, owner_id: str) -> Iterator[None]:
        """Hold a place until the block ends.

        Raises:
            TooManyOutputs: the owner reads as many as one owner may.
            Busy: all owners together read as many as this process writes.
        """
        if self._open[owner_id] >= MOST_OF_OWNER:
            raise TooManyOutputs(
                f"you are reading {MOST_OF_OWNER} outputs already, the most at the same time; repeat the request when "
                "one has ended",
                headers={"Retry-After": str(_RETRY_AFTER_SECONDS)},
            )
        if self._open.total() >= MOST_OUTPUTS:
            raise Busy("as many outputs are read as this process writes at the same time; repeat the request later")
        self._open[owner_id] += 1
        try:
            yield
        finally:
            self._open[owner_id] -= 1
            self._open += Counter()  # forgets owners without an output


async def _hold_place(request: Request) -> AsyncIterator[None]:
    outputs: Outputs = request.app.state.outputs
    with outputs.hold(request.state.owner_id):
        yield


@router.get(
    "/predictions/{prediction_id}/output",
    response_class=Response,
    dependencies=[Depends(_hold_place, scope="request")],  # until the response was sent
    responses={
        200: _OUTPUT,
        **not_modified(),
        **refusals(400, 401, 404, 503, conflict="The prediction has not succeeded."),
    },
)
def get_output(
    job_id: Annotated[str, make_id_reader("prediction", "pr")],
    owner: OwnerDep,
    services: ServicesDep,
    format: Annotated[TableFormat, Query(description="Form of the file.")] = "csv",
    if_none_match: KnownEtag = None,
) -> Response:
    """Return the columns of the input with `label`, `probability`, the probability of each label, and `error`.

    With `answer_above`, a column `answered` tells which rows have a label.
    """
    with services.database.session_scope() as session:
        job = service.get(session, owner, "prediction", job_id)
        if job.status != Status.SUCCEEDED:
            raise service.explain_absence(services, job, "output")
        stored, dataset_id = job.spec, job.dataset_id
        etag = make_etag("output", job.id, str(job.attempt), format)
    if is_known(if_none_match, etag):
        return answer_unchanged(etag, REVALIDATED)
    spec = OutputSpec.model_validate(stored)
    table = PredictedTable(
        spec.labels,
        spec.columns,
        lambda: read_answered(services.database, dataset_id, job_id),
        spec.text_place,
        spec.delimiter,
        has_mark=spec.has_mark,
        spool_dir=services.settings.spool_dir,
        answer_above=spec.answer_above,
    )
    pieces = write_table(table, format)
    first = next(pieces)  # so that an error of the first page, or of a whole Parquet file, is an answer of its own
    disposition = f'attachment; filename="predictions.{format}"'
    headers = {"ETag": etag, "Content-Disposition": disposition, **REVALIDATED}
    return StreamingResponse(chain([first], pieces), media_type=MEDIA_TYPES[format], headers=headers)
