"""Routes of predictions."""

from itertools import chain
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response, status
from starlette.responses import StreamingResponse

from app.dependencies import OWNER_ROUTE, IntakeDep, OwnerDep, SelectionIdDep, ServicesDep, make_id_reader
from app.intake.answer import answer_submission, submitted
from app.intake.form import DIALECT_PARTS, KeyDep, submission_of
from app.intake.submissions import RawSubmission
from app.jobs import service
from app.jobs.endpoints import JobRoutes
from app.jobs.view import View
from app.predictions import openapi
from app.predictions.order import PredictionOrder
from app.predictions.outputs import OUTPUT_PLACE
from app.predictions.presentation import present
from app.predictions.schemas import PredictionOut, PredictionPage, PredictionSummary
from app.predictions.stored import PredictionPart
from app.prompts.parameters import NameDep
from app.store.rows import read_answered
from app.store.states import Status
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, is_known, make_etag
from app.web.openapi import not_modified, refusals
from app.web.rate_limits import SUBMISSION_LIMIT
from lens_engine.predicting.table import MEDIA_TYPES, PredictedTable, TableFormat, write_table

SubmissionDep = Annotated[RawSubmission, submission_of("texts", "spec", "text_column", *DIALECT_PARTS)]

life = JobRoutes(
    View(
        kind="prediction",
        prefix="pr",
        summary=PredictionSummary,
        out=PredictionOut,
        page=PredictionPage,
        present=present,
        keeps="the predictions so far",
        resumes="It goes on after the last row that is predicted.",
        has_source=True,
    )
).router
router = APIRouter(tags=["predictions"], dependencies=OWNER_ROUTE)

_SUBMISSION: dict[str, Any] = {
    "status_code": status.HTTP_202_ACCEPTED,
    "response_model": PredictionOut,
    "dependencies": [SUBMISSION_LIMIT],
    "response_description": "The queued prediction. `Location` is its address.",
    "responses": submitted(conflict="Or there is no classifier.", codes=(404,)),
    "openapi_extra": openapi.BODY,
}


@router.post("/selections/{selection_id}/predictions", **_SUBMISSION)
def submit_prediction(
    selection_id: SelectionIdDep,
    submission: SubmissionDep,
    intake: IntakeDep,
    services: ServicesDep,
    owner: OwnerDep,
    key: KeyDep,
) -> Response:
    """Classify the texts of a file with the classifier of a selection, or with its prompt."""
    order = PredictionOrder(selection_id=selection_id)
    return answer_submission(services, "prediction", intake.submit(owner, order, submission, key))


@router.post("/prompts/{name}/predictions", **_SUBMISSION)
def submit_named_prediction(
    name: NameDep,
    submission: SubmissionDep,
    intake: IntakeDep,
    services: ServicesDep,
    owner: OwnerDep,
    key: KeyDep,
) -> Response:
    """Classify the texts of a file with the classifier that a name says now, or with its prompt."""
    order = PredictionOrder(prompt_name=name)
    return answer_submission(services, "prediction", intake.submit(owner, order, submission, key))


@router.get(
    "/predictions/{prediction_id}/output",
    response_class=Response,
    dependencies=[OUTPUT_PLACE],
    responses={
        200: openapi.OUTPUT,
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
    spec = PredictionPart.model_validate(stored)
    table = PredictedTable(
        spec.classifier.task.labels,
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
