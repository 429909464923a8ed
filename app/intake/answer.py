"""The answer to a submission of any kind."""

from typing import Any

from fastapi import status
from starlette.responses import JSONResponse, Response

from app.ids import path_of
from app.intake.storing import Accepted
from app.lifecycle.enqueueing import enqueueing
from app.services import Services
from app.web.openapi import refusals, sends


def submitted(*, conflict: str = "", codes: tuple[int, ...] = ()) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of a route that takes submissions. `conflict`: further reasons for 409."""
    in_flight = "Another request with this Idempotency-Key is still being answered."
    return {
        202: sends("Location", "Retry-After", "Idempotent-Replayed"),
        **refusals(
            *(400, 401, 413, 415, 422, 503, *codes),
            conflict=f"{in_flight} {conflict}".strip(),
            is_conflict_brief=True,
        ),
    }


def answer_submission(services: Services, kind: str, accepted: Accepted) -> Response:
    """Answer with the queued job, which is enqueued afterwards."""
    headers = {
        "Location": path_of(kind, accepted.answer["id"]),
        "Retry-After": str(services.settings.retry_after_seconds),
    }
    if accepted.job_id is None:  # an earlier request got the answer
        headers["Idempotent-Replayed"] = "true"
    return JSONResponse(
        accepted.answer, status.HTTP_202_ACCEPTED, headers, background=enqueueing(services, accepted.job_id)
    )
