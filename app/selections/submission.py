"""POST /selections."""

from typing import Annotated

from fastapi import APIRouter, Response, status

from app.dependencies import OWNER_ROUTE, IntakeDep, OwnerDep, ServicesDep
from app.intake.answer import answer_submission, submitted
from app.intake.form import COLUMN_PARTS, KeyDep, submission_of
from app.intake.submissions import RawSubmission
from app.selections.order import SelectionOrder
from app.selections.schemas import SelectionOut
from app.selections.submission_openapi import SUBMISSION_BODY
from app.web.rate_limits import SUBMISSION_LIMIT

router = APIRouter(prefix="/selections", tags=["selections"], dependencies=OWNER_ROUTE)

SubmissionDep = Annotated[RawSubmission, submission_of("dataset", "spec", "test", *COLUMN_PARTS)]


@router.post(
    "",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=SelectionOut,
    dependencies=[SUBMISSION_LIMIT],
    response_description="The queued selection. `Location` is its address.",
    responses=submitted(),
    openapi_extra=SUBMISSION_BODY,
)
def submit_selection(
    submission: SubmissionDep, intake: IntakeDep, services: ServicesDep, owner: OwnerDep, key: KeyDep
) -> Response:
    """Submit a dataset and a task. A worker then searches for the support examples."""
    return answer_submission(services, "selection", intake.submit(owner, SelectionOrder(), submission, key))
