"""Statuses of a job."""

from enum import StrEnum


class Status(StrEnum):
    """Status of a job.

    - `queued`: waits for a worker, also after a crash or a shutdown of its worker.
    - `running`: a worker searches.
    - `cancelling`: a worker was asked to stop and has not stopped yet.
    - `cancelled`: cancelled by its owner; may have a partial result.
    - `succeeded`: has its support examples.
    - `failed`: `error` says why.
    """

    QUEUED = "queued"
    RUNNING = "running"  #: a worker holds its lease
    CANCELLING = "cancelling"  #: a worker holds its lease
    CANCELLED = "cancelled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


TERMINAL = frozenset({Status.CANCELLED, Status.SUCCEEDED, Status.FAILED})
"""Statuses that only a request of the owner changes: a retry of a failed job, or a resume of a cancelled one."""

LEASED = frozenset({Status.RUNNING, Status.CANCELLING})
"""Statuses in which a worker holds the job."""

UNDER_WAY = tuple(status.value for status in (Status.QUEUED, *sorted(LEASED)))
"""Statuses of what is queued or running."""
