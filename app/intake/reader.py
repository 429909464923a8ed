"""The process that validates and stores large submissions, one after another, and the pipe to it."""

import atexit
import ctypes
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import IO, Any, Self

from sqlalchemy.exc import StatementError
from structlog.contextvars import get_contextvars

from app.errors import NO_SPACE, AppError, make_internal_error
from app.intake.order import Work
from app.intake.submissions import AnySubmission
from app.lean_imports import leave_pandas_out
from app.logs import context
from app.logs.failures import summarize
from app.logs.setup import configure_logging
from app.queue import JobQueue
from app.services import Services
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, create_database

_log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 300.0
"""Far more than the largest upload takes with the default limits."""

_NICENESS = 5
"""Lower priority than the process that answers polls."""


class ReaderEnded(Exception):
    """The process ended before it answered. The message says how."""


class Reader:
    """The process, and this end of the pipe to it. It starts at once; only one thread at a time may submit."""

    def __init__(self, settings: Settings) -> None:
        """
        Raises:
            OSError: the machine has no room for another process.
        """
        spawning = multiprocessing.get_context("spawn")
        self._was_overdue = False
        self._pipe, far_end = spawning.Pipe()
        self._process = spawning.Process(target=_serve, args=(far_end, settings), name="lens-reader")
        with far_end:  # this process keeps no copy, so that the death of the other ends the pipe
            self._process.start()
        atexit.register(self.stop)  # runs before multiprocessing waits for its children

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def do(self, owner_id: str, work: Work, submission: AnySubmission, key: str | None) -> Any:
        """Have the work done with the submission. Raises what the work raises, and:

        Raises:
            ReaderEnded: the process died, or was killed because it hung.
        """
        parcel, files = _Parcel.pack(owner_id, work, submission, key)
        overdue = threading.Timer(_PATIENCE_SECONDS, self._kill_overdue)
        overdue.daemon = True
        overdue.start()
        try:
            answer = self._ask(parcel, files)
        finally:
            overdue.cancel()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stop(self) -> None:
        """Kill the process. What it has not committed is not stored. Call it once, from one thread."""
        atexit.unregister(self.stop)
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _ask(self, parcel: "_Parcel", files: list[IO[bytes]]) -> Any:
        try:
            self._pipe.send(parcel)
            for file in files:
                assert self._process.pid is not None
                send_handle(self._pipe, file.fileno(), self._process.pid)
            answer = self._pipe.recv()
        except (OSError, EOFError, RuntimeError) as error:  # RuntimeError: macOS, where a descriptor is acknowledged
            raise ReaderEnded(self.describe_end()) from error
        return answer

    def describe_end(self) -> str:
        """How the process ended, in words that follow its name."""
        if self._was_overdue:
            return f"did not answer for {_PATIENCE_SECONDS:g} s and was killed"
        self._process.join(1)
        return f"ended with exit code {self._process.exitcode}"

    def _kill_overdue(self) -> None:
        self._was_overdue = True
        self._process.kill()


@dataclass(frozen=True, slots=True)
class _Parcel:
    """A submission on its way to the process. Its files have no names, so their descriptors follow it."""

    owner_id: str
    work: Work
    key: str | None
    log_fields: dict[str, Any]
    kind: Callable[..., AnySubmission]
    values: dict[str, Any]
    file_names: tuple[str, ...]

    @classmethod
    def pack(
        cls, owner_id: str, work: Work, submission: AnySubmission, key: str | None
    ) -> tuple[Self, list[IO[bytes]]]:
        values = {field.name: getattr(submission, field.name) for field in fields(submission)}
        names = tuple(name for name, value in values.items() if hasattr(value, "fileno"))
        files = [values.pop(name) for name in names]
        for file in files:
            file.fileno()  # moves a small file from memory to disk
            file.flush()
        return cls(owner_id, work, key, get_contextvars(), type(submission), values, names), files


def _serve(pipe: Connection, settings: Settings) -> None:
    """Answer until the other end closes. A signal to the whole group must not take away what is under way."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICENESS)
    threading.Thread(target=_end_with_parent, name="lens-parent", daemon=True).start()
    leave_pandas_out()
    configure_logging(settings.log_level, settings.log_format)
    services = Services(settings, create_database(settings, pool_size=1), JobQueue(settings))
    try:
        while True:
            _serve_next(pipe, services)
            give_back_memory()
    except (EOFError, ConnectionError):
        return
    except Exception as error:  # noqa: BLE001 - logged by class and frames, as everywhere
        _log.critical("the reader ends: %s", summarize(error), exc_info=error, extra={"action": "reader-ended"})
        raise SystemExit(1) from None


def _serve_next(pipe: Connection, services: Services) -> None:
    """Answer one submission. Nothing of it stays in memory, not even by the frames of its error."""
    parcel: _Parcel = pipe.recv()
    with ExitStack() as files_open:  # closed before the answer, so that nothing of a finished request is left
        files = {name: files_open.enter_context(os.fdopen(recv_handle(pipe), "rb")) for name in parcel.file_names}
        answer = _answer(services, parcel, files)
    pipe.send(answer)


def _answer(services: Services, parcel: _Parcel, files: dict[str, Any]) -> Any:
    """The result, or the error to raise. What nobody expects is logged here, where its frames are."""
    context.begin(**parcel.log_fields)
    try:
        return parcel.work(services, parcel.owner_id, parcel.kind(**parcel.values, **files), parcel.key)
    except (AppError, *POSTGRES_AWAY) as error:
        if isinstance(error, StatementError):
            error.params = None  # texts, which the other process needs not
        return error
    except Exception as error:  # noqa: BLE001 - the API answers every error
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            return error
        _log.exception("unexpected %s", summarize(error), extra={"action": "internal-error"})
        return make_internal_error()


def give_back_memory() -> None:
    """Give what is free to the system, so that the next work does not add to the peak of this one.

    The allocator of glibc keeps it below the last block that is in use; other systems have no such call.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
