"""The history of a selection, which a trigger writes, as a path of the state machine."""

from collections.abc import Iterable

from app.lifecycle.states import REVIVALS, Status, can_move


def find_false_moves(moves: Iterable[tuple[str | None, str, int]]) -> list[str]:
    """Moves, each (from, to, attempt), that do not continue the path."""
    faults: list[str] = []
    current: str | None = None
    attempts = 0
    for before, after, attempt in moves:
        if before != current:
            faults.append(f"left {before} while {current}")
        if before is not None and not _is_allowed(Status(before), Status(after)):
            faults.append(f"went from {before} to {after}")
        attempts += after == Status.RUNNING
        if attempt != attempts:
            faults.append(f"became {after} in attempt {attempt} after {attempts} claims")
        current = after
    return faults


def _is_allowed(before: Status, after: Status) -> bool:
    """A move of a run, or one that its owner asks for."""
    return can_move(before, after) or REVIVALS.get(before) == after
