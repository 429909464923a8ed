"""Where a submission is validated and stored: a small one in this process, a large one in a process of its own.

Python runs one thread of a process at a time, so a thread that reads a large dataset would hold up every poll.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

from app.errors import REPEAT, STOPPING, Unavailable
from app.intake.order import Order, Work
from app.intake.reader import Reader, ReaderEnded
from app.intake.storing import Accepted, Submitting
from app.intake.submissions import AnySubmission, RawSubmission
from app.services import Services

_log = logging.getLogger(__name__)


class Intake:
    """Takes submissions in. The reader of large ones starts with the first of them, and again after it has ended."""

    def __init__(self, services: Services, on_reader_end: Callable[[], None] = lambda: None) -> None:
        self._services = services
        self._on_reader_end = on_reader_end
        self._changing = threading.Lock()
        self._asking = threading.Lock()
        self._reader: Reader | None = None
        self._is_closed = False

    def submit(self, owner_id: str, order: Order, submission: RawSubmission, key: str | None) -> Accepted:
        """Validate and store a submission, as `storing.submit`. Raises the same errors as `do`."""
        accepted: Accepted = self.do(owner_id, Submitting(order), submission, key)
        return accepted

    def do(self, owner_id: str, work: Work, submission: AnySubmission, key: str | None = None) -> Any:
        """Do the work: in this process with a small submission, in the reader with a large one.

        Raises:
            Unavailable: the reader did not start, ended or hung. The submission may be stored.
        """
        if not submission.is_large:
            return work(self._services, owner_id, submission, key)
        with self._asking:
            reader = self._ensure_reader()
            try:
                return reader.do(owner_id, work, submission, key)
            except ReaderEnded as end:
                self._note_end(str(end))
                with self._changing:
                    self._stop_reader()
                raise Unavailable(f"the process that validates this submission ended; {REPEAT}") from end

    def close(self) -> None:
        """End the reader, and start none any more. What it has not committed is not stored."""
        with self._changing:
            self._is_closed = True
            self._stop_reader()

    def _ensure_reader(self) -> Reader:
        with self._changing:
            if self._is_closed:
                raise Unavailable(STOPPING)
            if self._reader is not None and not self._reader.is_alive:
                self._note_end(f"{self._reader.describe_end()} while it had nothing to do")
                self._stop_reader()
            if self._reader is None:
                try:
                    self._reader = Reader(self._services.settings)
                except OSError as error:
                    _warn(f"cannot start ({error})")
                    raise Unavailable("the process that validates this submission cannot start") from error
            return self._reader

    def _note_end(self, what: str) -> None:
        self._on_reader_end()
        _warn(what)

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.stop()
        self._reader = None


def _warn(what: str) -> None:
    _log.warning("the reader of large submissions %s", what, extra={"action": "reader-ended"})
