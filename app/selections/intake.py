"""Where a submission is validated and stored: a small one in this process, a large one in a process of its own.

Python runs one thread of a process at a time, so a thread that reads a large dataset would hold up every poll.
"""

import logging
import threading

from app.errors import Unavailable
from app.selections import service
from app.selections.reader import Reader, ReaderEnded
from app.selections.service import Accepted, Services
from app.selections.submissions import RawSubmission

_log = logging.getLogger(__name__)


class Intake:
    """Takes submissions in. The reader of large ones starts with the first of them, and again after it has ended."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._starting = threading.Lock()
        self._asking = threading.Lock()
        self._reader: Reader | None = None
        self._is_closed = False

    def submit(self, owner_id: str, submission: RawSubmission, key: str | None) -> Accepted:
        """Validate and store a submission, as `service.submit`.

        Raises:
            Unavailable: the reader did not start, ended or hung. The submission may be stored.
        """
        if not submission.is_large:
            return service.submit(self._services, owner_id, submission, key)
        with self._asking:
            reader = self._find_reader()
            try:
                return reader.submit(owner_id, submission, key)
            except ReaderEnded as end:
                reader.stop()
                _log.warning("the reader of large submissions %s", end, extra={"action": "reader-ended"})
                raise Unavailable(
                    "the process that validates this submission ended; repeat the request, with the same "
                    "Idempotency-Key if it had one"
                ) from end

    def close(self) -> None:
        """End the reader, and start none any more. What it has not committed is not stored."""
        with self._starting:
            self._is_closed = True
            if self._reader is not None:
                self._reader.stop()

    def _find_reader(self) -> Reader:
        with self._starting:
            if self._is_closed:
                raise Unavailable("the service stops; repeat the request")
            if self._reader is None or not self._reader.is_alive:
                try:
                    self._reader = Reader(self._services.settings)
                except OSError as error:
                    _log.warning(
                        "the reader of large submissions cannot start (%s)", error, extra={"action": "reader-ended"}
                    )
                    raise Unavailable("the process that validates this submission cannot start") from error
            return self._reader
