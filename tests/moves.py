"""What must hold of stored jobs: a history, which a trigger writes, is a path of the state machine.

No dataset that no job uses is left over.
"""

from collections.abc import Iterable

from app.store.tables import Status

MOVES = """
SELECT job_id, data->>'from', data->>'to', (data->>'attempt')::int FROM events
WHERE type = 'status' ORDER BY job_id, id
"""
UNUSED_DATASETS = """
SELECT id FROM datasets WHERE NOT EXISTS (SELECT FROM jobs WHERE datasets.id IN (dataset_id, test_dataset_id))
"""
TRANSITIONS: dict[Status, set[Status]] = {
    Status.QUEUED: {Status.RUNNING, Status.CANCELLED, Status.FAILED},
    Status.RUNNING: {Status.QUEUED, Status.CANCELLING, Status.SUCCEEDED, Status.CANCELLED, Status.FAILED},
    # A run may end before it sees the cancel request. Its result is then kept.
    Status.CANCELLING: {Status.CANCELLED, Status.SUCCEEDED, Status.FAILED},
    Status.CANCELLED: set(),
    Status.SUCCEEDED: set(),
    Status.FAILED: set(),
}
"""The moves that are allowed without a request of the owner to revive the selection."""

REVIVALS = {Status.FAILED: Status.QUEUED, Status.CANCELLED: Status.QUEUED}
"""The owner retries a failed selection, or resumes a cancelled one. Nothing else revives a selection."""


def can_move(current: Status, target: Status) -> bool:
    """Whether the move is allowed without a request of the owner."""
    return target in TRANSITIONS[current]


def find_false_moves(moves: Iterable[tuple[str | None, str, int]]) -> list[str]:
    """Moves, each (from, to, attempt), that do not continue the path."""
    faults: list[str] = []
    current: str | None = None
    attempts = 0
    for before, after, attempt in moves:
        if before != current:
            faults.append(f"left {before} while {current}")
        old, new = None if before is None else Status(before), Status(after)
        if old is not None and not can_move(old, new) and REVIVALS.get(old) != new:  # nor may its owner ask for it
            faults.append(f"went from {before} to {after}")
        attempts += after == Status.RUNNING
        if attempt != attempts:
            faults.append(f"became {after} in attempt {attempt} after {attempts} claims")
        current = after
    return faults
