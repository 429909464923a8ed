"""The reader: a process beside the API that validates and stores large submissions, one after another.

Python runs one thread of a process at a time, so a thread that reads a large dataset would hold up every poll.
"""

import ctypes
import logging
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy.exc import StatementError
from structlog.contextvars import get_contextvars

from app.errors import NO_SPACE, REPEAT, STOPPING, AppError, Unavailable, Unprocessable, make_internal_error
from app.logs import begin_context, configure_logging, summarize
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, create_database
from app.store.queue import JobQueue
from app.store.services import Services

_Found = TypeVar("_Found")
_log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 300.0
"""Far more than the largest upload takes with the default limits."""

_MOST_BYTES, _MOST_CPU_SECONDS = 2**30, 120
"""What the work on one upload may take, beside what the process has: a third more than the largest workbook with the
default limits, and twice the seconds of the largest text file."""

_SPENT = tuple(-number for number in (signal.SIGXCPU, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL))
"""Exit codes of a process that reached a limit: a library without memory ends its process."""

_NICENESS = 5
"""Lower priority than the process that answers polls."""


class Reader:
    """Starts the process with the first large work, and again after it has ended."""

    def __init__(self, settings: Settings, note_end: Callable[[], None] = lambda: None) -> None:
        """`note_end`: is called whenever the process ended by itself."""
        self._settings = settings
        self._note_end = note_end
        self._changing = threading.Lock()
        self._process: _Process | None = None
        self._is_closed = False

    def run(self, work: Callable[..., _Found], *arguments: Any) -> _Found:
        """Call `work` in the process, with its services before the arguments. All of it is pickled."""
        process = self._ensure_process()
        try:
            doing = process.pool.submit(_run, get_contextvars(), work, arguments)
            found: _Found | Exception = doing.result(_PATIENCE_SECONDS)
        except (TimeoutError, CancelledError, RuntimeError) as error:  # RuntimeError: the pool is broken or shut down
            with self._changing:
                end = self._stop(process)
            is_late = isinstance(error, TimeoutError)
            self._warn(f"did not answer for {_PATIENCE_SECONDS:g} s and was killed" if is_late else end)
            if process.exit_code in _SPENT:
                raise _refuse() from error
            raise Unavailable(f"the process that validates this submission ended; {REPEAT}") from error
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """End the process, and start none any more. What it has not committed is not stored."""
        with self._changing:
            self._is_closed = True
            if self._process is not None:
                self._stop(self._process)

    def _ensure_process(self) -> "_Process":
        with self._changing:
            if self._is_closed:
                raise Unavailable(STOPPING)
            if self._process is not None and not self._process.is_alive:
                self._warn(f"{self._stop(self._process)} while it had nothing to do")
            if self._process is None:
                try:
                    self._process = _Process(self._settings)
                except OSError as error:
                    _log.warning("the reader cannot start (%s)", error, extra={"action": "reader-ended"})
                    raise Unavailable("the process that validates this submission cannot start") from error
            return self._process

    def _stop(self, process: "_Process") -> str:
        if self._process is process:
            self._process = None
        return process.stop()

    def _warn(self, end: str) -> None:
        self._note_end()
        _log.warning("the reader of large submissions %s", end, extra={"action": "reader-ended"})


class _Process:
    """A pool of one process, which starts at once."""

    def __init__(self, settings: Settings) -> None:
        spawning = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(1, spawning, _begin, (settings,))
        self.pool.submit(os.getpid)
        (self._process,) = self.pool._processes.values()  # from Python 3.14 on, the pool can kill it

    @property
    def is_alive(self) -> bool:
        # The pool waits for the process in a thread of its own, so `Process.is_alive` may miss that it has ended.
        return not wait([self._process.sentinel], 0)

    @property
    def exit_code(self) -> int | None:
        return self._process.exitcode

    def stop(self) -> str:
        """Kill the process if it lives, and say how it ended."""
        self._process.kill()
        self.pool.shutdown()
        return f"ended with exit code {self.exit_code}"


_services: Services | None = None
"""Of the process of the reader."""


def _begin(settings: Settings) -> None:
    """Prepare the process. A signal to the whole group must not take away what is under way."""
    global _services
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would have the rows of a submission
    threading.Thread(target=_end_with_parent, name="lens-parent", daemon=True).start()
    configure_logging(settings.log_level, settings.log_format)
    _services = Services(settings, create_database(settings, pool_size=1), JobQueue(settings))


def _run(log_fields: dict[str, Any], work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Do the work. Nothing of it stays in memory but what it found."""
    begin_context(**log_fields)
    found = _find(work, arguments)
    give_back_memory()
    return found


def _find(work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What the work found, or the error to raise. What nobody expects is logged here, where its frames are."""
    try:
        return work(_services, *arguments)
    except (AppError, *POSTGRES_AWAY) as error:
        if isinstance(error, StatementError):
            error.params = None  # texts, which the other process does not need
        return _without_frames(error)
    except MemoryError:
        return _without_frames(_refuse())
    except Exception as error:  # noqa: BLE001 - the API answers every error
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            return _without_frames(error)
        _log.exception("unexpected %s", summarize(error), extra={"action": "internal-error"})
        return make_internal_error()


def _without_frames(error: Exception) -> Exception:
    """Frames hold the rows of the submission in memory."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


@contextmanager
def bounded() -> Iterator[None]:
    """Limit what the block takes: a small archive may ask for any memory, and a library that unpacks it for any time.

    At the limit of memory Python raises MemoryError, and other libraries end the process. Only Linux holds that limit.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = {resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + _MOST_CPU_SECONDS}
    with suppress(OSError):  # not Linux
        most[resource.RLIMIT_AS] = (
            int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + _MOST_BYTES
        )
    before = {kind: resource.getrlimit(kind) for kind in most}
    try:
        for kind, (soft, hard) in before.items():
            resource.setrlimit(kind, (most[kind] if soft == resource.RLIM_INFINITY else min(most[kind], soft), hard))
        yield
    finally:
        for kind, limits in before.items():
            resource.setrlimit(kind, limits)


def _refuse() -> Unprocessable:
    return Unprocessable(
        f"reading this takes more than the {_MOST_BYTES >> 20:,} MiB of memory or the {_MOST_CPU_SECONDS} seconds of "
        "processor time that one upload may take, and nothing of it was stored; send a smaller file, or save a "
        "workbook as CSV (UTF-8)"
    )


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
