"""POST /selections."""

from fastapi import APIRouter, Response, status
from starlette.responses import JSONResponse

from app.dependencies import OWNER_ROUTE, IntakeDep, OwnerDep, ServicesDep
from app.intake.form import KeyDep, SubmissionDep
from app.intake.openapi import SUBMISSION_BODY
from app.selections.enqueueing import enqueueing
from app.selections.schemas import SelectionOut
from app.web.openapi import refusals, sends
from app.web.rate_limits import SUBMISSION_LIMIT

router = APIRouter(prefix="/selections", tags=["selections"], dependencies=OWNER_ROUTE)


@router.post(
    "",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=SelectionOut,
    dependencies=[SUBMISSION_LIMIT],
    response_description="The queued selection. `Location` is its address.",
    responses={
        202: sends("Location", "Retry-After", "Idempotent-Replayed"),
        **refusals(
            *(400, 401, 413, 415, 422, 503),
            conflict="Another request with this Idempotency-Key is still being answered.",
            is_conflict_brief=True,
        ),
    },
    openapi_extra=SUBMISSION_BODY,
)
def submit_selection(
    submission: SubmissionDep, intake: IntakeDep, services: ServicesDep, owner: OwnerDep, key: KeyDep
) -> Response:
    """Submit a dataset and a task. A worker then searches for the support examples."""
    accepted = intake.submit(owner, submission, key)
    headers = {
        "Location": f"/selections/{accepted.answer['id']}",
        "Retry-After": str(services.settings.retry_after_seconds),
    }
    if accepted.is_replayed:
        headers["Idempotent-Replayed"] = "true"
    return JSONResponse(
        accepted.answer, status.HTTP_202_ACCEPTED, headers, background=enqueueing(services, accepted.job_id)
    )
