"""What a poll needs of a job: the version of its view, and when to ask again.

Workers import this module by way of the repository, so it imports nothing of the web framework.
"""

import json
import math
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from app.settings import Settings
from app.store.states import TERMINAL, Status
from app.store.tables import Job

_LONGEST_WAIT = 30
_SHARE_OF_ETA = 10
"""A client that waits a tenth of the remaining time learns of the end a tenth too late at most."""


@dataclass(frozen=True, slots=True)
class JobState:
    """All columns of a job that change and that clients see. The others never change, or change with these."""

    id: str
    status: str
    attempt: int
    progress: dict[str, Any] | None
    queued_at: datetime
    started_at: datetime | None
    cancel_requested_at: datetime | None
    cancelled_at: datetime | None
    succeeded_at: datetime | None
    failed_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> "JobState":
        return cls(*(getattr(job, name) for name in cls.__slots__))

    @property
    def version(self) -> str:
        """Text that differs whenever the view of the job differs."""
        return json.dumps(astuple(self), default=str, sort_keys=True)


def retry_after(settings: Settings, status: str, progress: dict[str, Any] | None) -> dict[str, str]:
    """Build the header Retry-After of a job that has not ended: a tenth of the expected time, at most 30 s."""
    if Status(status) in TERMINAL:
        return {}
    shortest = settings.retry_after_seconds
    eta = (progress or {}).get("eta_seconds") if status == Status.RUNNING else None
    if not isinstance(eta, int | float) or not math.isfinite(eta):
        return {"Retry-After": str(shortest)}
    return {"Retry-After": str(max(shortest, min(_LONGEST_WAIT, math.ceil(eta / _SHARE_OF_ETA))))}
