"""Where a submission is validated and stored: a light one here, a heavy one in a process of its own.

Python runs one thread of a process at a time, so a thread that reads a large dataset would hold up every poll.
"""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, fields
from multiprocessing import resource_sharer
from multiprocessing.reduction import DupFd
from typing import Any, ClassVar, Self

from sqlalchemy.exc import SQLAlchemyError
from structlog.contextvars import get_contextvars

from app.database import create_database
from app.errors import AppError, Unavailable
from app.logs import context
from app.logs.setup import configure_logging
from app.queue import JobQueue
from app.selections import service
from app.selections.service import Accepted, Services
from app.selections.submissions import RawSubmission
from app.settings import Settings

_log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 300.0
"""Far more than the largest upload takes."""

_NICENESS = 5
"""Lower priority than the process that answers polls."""


class Intake:
    """Takes submissions in. The process for heavy ones starts with the first of them, and again when it has ended."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._starting = threading.Lock()
        self._reader: _Reader | None = None

    def submit(self, owner_id: str, submission: RawSubmission, key: str | None) -> Accepted:
        """Validate and store a submission, as `service.submit`.

        Raises:
            Unavailable: the process for heavy submissions ended or hung. The submission may be stored.
        """
        if submission.is_light:
            return service.submit(self._services, owner_id, submission, key)
        reader = self._find_reader()
        try:
            task = reader.pool.submit(_submit, owner_id, _Parcel.pack(submission), key, get_contextvars())
            return task.result(_PATIENCE_SECONDS)
        except (BrokenProcessPool, TimeoutError):
            self._give_up(reader)
            raise Unavailable(
                "the process that reads large submissions ended; repeat the request, with the same Idempotency-Key "
                "if it had one"
            ) from None

    def close(self) -> None:
        """End the process for heavy submissions. No request is under way any more."""
        if self._reader is not None:
            self._give_up(self._reader)

    def _find_reader(self) -> "_Reader":
        with self._starting:
            if self._reader is None:
                self._reader = _Reader.start(self._services.settings)
            return self._reader

    def _give_up(self, reader: "_Reader") -> None:
        with self._starting:
            if self._reader is reader:
                self._reader = None
        reader.stop()


@dataclass(frozen=True, slots=True)
class _Reader:
    """The process for heavy submissions."""

    pool: ProcessPoolExecutor
    pid: int

    @classmethod
    def start(cls, settings: Settings) -> Self:
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, (settings,))
        try:
            return cls(pool, pool.submit(os.getpid).result(_PATIENCE_SECONDS))
        except (BrokenProcessPool, TimeoutError):
            pool.shutdown(wait=False, cancel_futures=True)
            raise Unavailable("the process that reads large submissions did not start; repeat the request") from None

    def stop(self) -> None:
        """Kill the process. What it has not committed is not stored."""
        # By its handle, because the id of a process that has ended may be another's.
        for child in multiprocessing.active_children():
            if child.pid == self.pid:
                child.kill()
        self.pool.shutdown(cancel_futures=True)
        resource_sharer.stop()  # closes the descriptors that the process did not fetch, and so deletes their files


@dataclass(frozen=True, slots=True)
class _Parcel:
    """A submission on its way to another process. Its files have no names, so their descriptors travel."""

    kind: Callable[..., RawSubmission]
    values: dict[str, Any]
    files: dict[str, Any]  #: `DupFd` by name

    @classmethod
    def pack(cls, submission: RawSubmission) -> Self:
        values = {field.name: getattr(submission, field.name) for field in fields(submission)}
        files = {name: value for name, value in values.items() if hasattr(value, "fileno")}
        for name, file in files.items():
            del values[name]
            file.flush()
        return cls(type(submission), values, {name: DupFd(file.fileno()) for name, file in files.items()})

    @contextmanager
    def unpacked(self) -> Iterator[RawSubmission]:
        files = {name: os.fdopen(descriptor.detach(), "rb") for name, descriptor in self.files.items()}
        try:
            yield self.kind(**self.values, **files)
        finally:
            for file in files.values():
                file.close()


class _Here:
    """What the process for heavy submissions works with."""

    services: ClassVar[Services]


def _begin(settings: Settings) -> None:
    """Set the process up. It ends with its parent: a signal to their group must not take away what is under way."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICENESS)
    threading.Thread(target=_end_with_parent, name="lens-parent", daemon=True).start()
    configure_logging(settings.log_level, settings.log_format)
    _Here.services = Services(settings, create_database(settings, pool_size=1), JobQueue(settings))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _submit(owner_id: str, parcel: _Parcel, key: str | None, log_fields: dict[str, Any]) -> Accepted:
    context.begin(**log_fields)
    try:
        with parcel.unpacked() as submission:
            return service.submit(_Here.services, owner_id, submission, key)
    except (AppError, SQLAlchemyError, OSError):
        raise
    except Exception:
        # The answer is made by the other process, to which the error travels without its frames.
        _log.exception("a large submission failed unexpectedly", extra={"action": "internal-error"})
        raise
