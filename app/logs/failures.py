"""Errors as a log may show them: the class, the SQLSTATE and frames of this project, and no message.

A message may hold what a client sent: pydantic repeats the input, Postgres repeats the row that it refuses, the
engine names a text. So the log says what kind of error happened where. The beginning of what a model server says is the
exception: only the operator may read it, and without it nobody can mend the server.
"""

import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from lens_engine.errors import EndpointError, LensError

_ROOT = Path(__file__).parents[2]
_OWN_PACKAGES = {"app", "worker", "lens_engine", "lens_cli", "migrations"}
_MAX_CAUSES = 5


def summarize(error: BaseException) -> str:
    """One line: `InvalidDataset (invalid-dataset, row 7)`, `IntegrityError (SQLSTATE 23514)`."""
    facts = []
    if isinstance(error, LensError):
        facts.append(error.code)
    if isinstance(row := getattr(error, "row", None), int):
        facts.append(f"row {row}")
    if sqlstate := _sqlstate(error):
        facts.append(f"SQLSTATE {sqlstate}")
    if isinstance(error, EndpointError):
        facts += [error.sentence, *([f"it said: {error.said}"] if error.said else [])]
    return f"{type(error).__name__} ({', '.join(facts)})" if facts else type(error).__name__


def describe(error: BaseException) -> str:
    """The error, its frames and its causes, a line each."""
    lines: list[str] = []
    for position, link in enumerate(_causes(error)):
        lines.append(summarize(link) if position == 0 else f"caused by {summarize(link)}")
        lines += [f"  {frame}" for frame in _own_frames(link.__traceback__)]
    return "\n".join(lines)


def _causes(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _own_frames(found: TracebackType | None) -> Iterator[str]:
    for frame in traceback.extract_tb(found):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT) and path.relative_to(_ROOT).parts[0] in _OWN_PACKAGES:
            yield f"{path.relative_to(_ROOT)}:{frame.lineno} in {frame.name}"


def _sqlstate(error: BaseException) -> str | None:
    found = getattr(getattr(error, "orig", None), "sqlstate", None) or getattr(error, "sqlstate", None)
    return found if isinstance(found, str) else None
