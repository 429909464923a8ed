"""The file whose age says to a health check whether a worker lives."""

import logging
from dataclasses import dataclass
from pathlib import Path

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HealthFile:
    """A file that a worker touches at each heartbeat.

    A worker answers no requests, so a supervisor compares the age of this file. Put it where one worker alone writes:
    the folder for temporary files of a container, not a volume that workers share.
    """

    path: Path | None  #: None: no file is touched

    def remove(self) -> None:
        """Remove what the process before left: it must not speak for a worker that does not start."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def touch(self) -> None:
        """Set the time of the file to now. A folder that refuses it is logged, and ends nothing."""
        if self.path is None:
            return
        try:
            self.path.touch()
        except OSError as error:
            _log.warning(
                "LENS_WORKER_HEALTH_FILE cannot be touched (%s)", error.strerror, extra={"action": "health-file"}
            )
