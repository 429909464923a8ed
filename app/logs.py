"""The log of every process of the service: all loggers, also those of libraries, write here.

Modules log by `logging.getLogger(__name__)`, with their own fields in `extra`. A line is a JSON object, or text for
people. It has ids, codes and numbers, and never a client's text. The message of an error may hold one: pydantic
repeats the input, Postgres repeats the row that it refuses, the engine names a text. So the log says what kind of error
happened where: the class, the SQLSTATE and frames of this project. The beginning of what a model server says is the
exception: only the operator may read it, and without it nobody can mend the server.
"""

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TextIO

import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars
from structlog.typing import EventDict, Processor

from lens_engine.errors import EndpointError, LensError

_ROOT = Path(__file__).parents[1]
_OWN_PACKAGES = {"app", "worker", "lens_engine", "lens_cli", "migrations"}
_MAX_CAUSES = 5


def begin_context(**fields: object) -> None:
    """Have the following lines of this context have these fields, and no earlier ones.

    Call it where a request or an attempt begins. Nothing resets the fields at the end, because the server logs an error
    of a request after the application has returned. Each request has a context of its own.
    """
    clear_contextvars()
    bind_contextvars(**fields)


def summarize(error: BaseException) -> str:
    """One line: `InvalidDataset (invalid-dataset, row 7)`, `IntegrityError (SQLSTATE 23514)`."""
    facts = []
    if isinstance(error, LensError):
        facts.append(error.code)
    if isinstance(row := getattr(error, "row", None), int):
        facts.append(f"row {row}")
    if sqlstate := find_sqlstate(error):
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


def find_sqlstate(error: BaseException | None) -> str | None:
    """The SQLSTATE of an error of SQLAlchemy or psycopg; None if Postgres did not answer."""
    found = getattr(getattr(error, "orig", None), "sqlstate", None) or getattr(error, "sqlstate", None)
    return found if isinstance(found, str) else None


LogFormat = Literal["json", "text"]

_OWN_LOGGERS = ("app", "worker", "lens_engine", "lens_cli", "migrations", "__main__")
_WITH_OWN_HANDLERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "rq.worker", "rq", "alembic")
_TRACEBACK = "Traceback (most recent call last)"
_DECORATION = ("stack_info", "color_message", "_ray_timestamp_ns")
"""Fields of uvicorn, with its message a second time, and of Ray in a process that imports it."""

_log = logging.getLogger(__name__)


def configure_logging(level: str, log_format: LogFormat) -> None:
    """Send every log line of this process to stderr. Call it once, where a process begins.

    `level` is that of the service's own loggers. Libraries log from INFO on: their lines for debugging may hold texts.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(make_formatter(log_format, sys.stderr))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(logging.getLevelNamesMapping()[level], logging.INFO))
    for name in _WITH_OWN_HANDLERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
    for name in _OWN_LOGGERS:
        logging.getLogger(name).setLevel(level)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it has a line for each request
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_uncaught_in_thread


def make_formatter(log_format: LogFormat, stream: TextIO) -> logging.Formatter:
    """The formatter of a handler that writes to `stream`. Text is coloured on a terminal."""
    renderer: Processor = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    if log_format == "text":
        renderer = structlog.dev.ConsoleRenderer(colors=stream.isatty(), pad_event_to=0)
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _tidy,
        ],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def _tidy(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Show an error as `describe` does, and cut the tracebacks that libraries write into messages."""
    found = event.pop("exc_info", None)
    if isinstance(found, tuple) and found[1] is not None:
        event["exception"] = describe(found[1])
    message = str(event["event"])
    if _TRACEBACK in message:
        event["event"] = f"{message.partition(_TRACEBACK)[0].strip()} (traceback left out)"
    for name in _DECORATION:
        event.pop(name, None)
    return event


def _log_uncaught(kind: type[BaseException], error: BaseException, found: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, found)
        return
    _log.critical("the process ends by %s", summarize(error), exc_info=(kind, error, found))


def _log_uncaught_in_thread(failure: threading.ExceptHookArgs) -> None:
    if failure.exc_value is None or failure.exc_type is SystemExit:
        return
    name = failure.thread.name if failure.thread is not None else "unknown"
    info = (failure.exc_type, failure.exc_value, failure.exc_traceback)
    _log.critical("thread %s ends by %s", name, summarize(failure.exc_value), exc_info=info)
