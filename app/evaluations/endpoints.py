"""Routes of evaluations."""

from typing import Annotated

from fastapi import APIRouter, Response, status

from app.dependencies import OWNER_ROUTE, IntakeDep, OwnerDep, SelectionIdDep, ServicesDep
from app.evaluations.openapi import BODY
from app.evaluations.order import EvaluationOrder
from app.evaluations.presentation import present
from app.evaluations.schemas import EvaluationOut, EvaluationPage, EvaluationSummary
from app.intake.answer import answer_submission, submitted
from app.intake.form import COLUMN_PARTS, KeyDep, submission_of
from app.intake.submissions import RawSubmission
from app.jobs.endpoints import JobRoutes
from app.jobs.view import View
from app.web.rate_limits import SUBMISSION_LIMIT

SubmissionDep = Annotated[RawSubmission, submission_of("dataset", "spec", *COLUMN_PARTS)]

router = APIRouter(prefix="/selections", tags=["evaluations"], dependencies=OWNER_ROUTE)
life = JobRoutes(
    View(
        kind="evaluation",
        prefix="ev",
        summary=EvaluationSummary,
        out=EvaluationOut,
        page=EvaluationPage,
        present=present,
        keeps="the answers so far",
        resumes="It goes on after the last row that has an answer.",
        has_source=True,
    )
).router


@router.post(
    "/{selection_id}/evaluations",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=EvaluationOut,
    dependencies=[SUBMISSION_LIMIT],
    response_description="The queued evaluation. `Location` is its address.",
    responses=submitted(conflict="Or the selection does not have what is judged.", codes=(404,)),
    openapi_extra=BODY,
)
def submit_evaluation(
    selection_id: SelectionIdDep,
    submission: SubmissionDep,
    intake: IntakeDep,
    services: ServicesDep,
    owner: OwnerDep,
    key: KeyDep,
) -> Response:
    """Judge what a selection found on other rows, with another model, as turns of a chat, or in other orders.

    Without rows, the test rows of the selection are judged.
    """
    return answer_submission(
        services, "evaluation", intake.submit(owner, EvaluationOrder(selection_id), submission, key)
    )
