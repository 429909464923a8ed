"""What becomes of a selection whose run ended without its fault: its worker died, or the worker was unfit."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.lifecycle.results import delete_checkpoint, end_cancelled
from app.lifecycle.states import Status
from app.models import Selection
from app.problems import problem
from app.settings import Settings

_LONGEST_BACKOFF_SECONDS = 3600.0

Describe = Callable[[Selection], dict[str, Any]]
"""The problem (RFC 9457) of a selection that gets no further attempt."""


def rescue(session: Session, selection: Selection, settings: Settings, describe: Describe) -> Status:
    """Charge the selection with one crash, and queue it again, fail it or cancel it. Returns its new status.

    A cancelled selection keeps the best so far of its checkpoint. The row must be locked. The next claim, not this
    function, increments `attempt`.
    """
    selection.crashes += 1
    target = decide_rescue(Status(selection.status), selection.crashes, settings.max_attempts)
    now: Any = func.now()
    if target is Status.QUEUED:
        selection.lease_until = None
        selection.status = target
        selection.queued_at = now
        selection.not_before = now + timedelta(seconds=backoff_seconds(selection.crashes, settings))
        session.flush()
    elif target is Status.FAILED:
        selection.lease_until = None
        selection.status = target
        selection.failed_at = now
        selection.error = describe(selection)
        session.flush()
        delete_checkpoint(session, selection.id)
    else:
        session.flush()
        end_cancelled(session, selection.id)
    return target


def decide_rescue(status: Status, crashes: int, max_attempts: int) -> Status:
    """Return the next status of a selection whose holder died. `crashes` includes this crash."""
    if status is Status.CANCELLING:
        return Status.CANCELLED
    return Status.FAILED if crashes >= max_attempts else Status.QUEUED


def backoff_seconds(crashes: int, settings: Settings) -> float:
    """Wait before the next attempt (seconds): doubles with each crash, up to one hour."""
    return min(settings.retry_backoff_seconds * 2.0 ** min(crashes - 1, 20), _LONGEST_BACKOFF_SECONDS)


def describe_crash(selection: Selection) -> dict[str, Any]:
    """The problem of a selection whose worker died too often."""
    detail = f"the worker died {selection.crashes} times during this selection; there will be no further attempt"
    return problem("worker-crashed", detail, instance=f"/selections/{selection.id}")


def describe_stall(selection: Selection, seconds: float) -> dict[str, Any]:
    """The problem of a selection whose last attempt made no progress for `seconds`."""
    detail = (
        f"{selection.crashes} attempts ended without a result; the last one was ended because it made no progress for "
        f"{seconds:.0f} s"
    )
    return problem("stalled", detail, instance=f"/selections/{selection.id}")


def describe_fault(selection: Selection, code: str) -> dict[str, Any]:
    """The problem of a selection whose last attempt met an unfit worker. `code` says what was wrong with the worker."""
    detail = (
        f"{selection.crashes} attempts ended without a result; the last one ended because its worker is unfit "
        f"({code}), not because of this selection; retry it when the operator has mended the workers"
    )
    return problem("worker-unfit", detail, instance=f"/selections/{selection.id}")
