"""Statuses of a selection and the transitions between them, without database or clock."""

from enum import StrEnum


class Status(StrEnum):
    """Status of a selection.

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


TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.CANCELLED, Status.FAILED}),
    Status.RUNNING: frozenset({Status.QUEUED, Status.CANCELLING, Status.SUCCEEDED, Status.CANCELLED, Status.FAILED}),
    # A run may end before it sees the cancel request. Its result is then kept.
    Status.CANCELLING: frozenset({Status.CANCELLED, Status.SUCCEEDED, Status.FAILED}),
    Status.CANCELLED: frozenset(),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset(),
}

REVIVALS: dict[Status, Status] = {Status.FAILED: Status.QUEUED, Status.CANCELLED: Status.QUEUED}
"""The only ways out of a terminal status: the owner retries a failed selection, or resumes a cancelled one.

Nothing else revives a selection, so these are no transitions.
"""

TERMINAL = frozenset(status for status, successors in TRANSITIONS.items() if not successors)
LEASED = frozenset({Status.RUNNING, Status.CANCELLING})
"""Statuses in which a worker holds the selection."""


def can_move(current: Status, target: Status) -> bool:
    """Whether the transition is allowed without a request of the owner to revive the selection."""
    return target in TRANSITIONS[current]
