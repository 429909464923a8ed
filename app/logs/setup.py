"""One set-up of logging for the processes of the service: all loggers, also those of libraries, write here.

Modules log by `logging.getLogger(__name__)`, with their own fields in `extra`. A line is a JSON object, or text for
people. Errors are shown as `app/logs/failures.py` describes them.
"""

import logging
import sys
import threading
from types import TracebackType
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor

from app.logs.failures import describe, summarize

LogFormat = Literal["json", "text"]

_OWN_LOGGERS = ("app", "worker", "lens_engine", "lens_cli", "migrations", "__main__")
_WITH_OWN_HANDLERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "rq.worker", "rq", "alembic")
_TRACEBACK = "Traceback (most recent call last)"
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
            _describe_error,
            _cut_traceback,
            _drop_decoration,
        ],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def _describe_error(_logger: Any, _method: str, event: EventDict) -> EventDict:
    found = event.pop("exc_info", None)
    event.pop("stack_info", None)
    if isinstance(found, tuple) and found[1] is not None:
        event["exception"] = describe(found[1])
    return event


def _cut_traceback(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Libraries write tracebacks into messages, with the message of the error."""
    message = str(event["event"])
    if _TRACEBACK in message:
        event["event"] = f"{message.partition(_TRACEBACK)[0].strip()} (traceback left out)"
    return event


def _drop_decoration(_logger: Any, _method: str, event: EventDict) -> EventDict:
    event.pop("color_message", None)  # the message of uvicorn, a second time
    event.pop("_ray_timestamp_ns", None)  # Ray adds it to every record of a process that imports it
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
