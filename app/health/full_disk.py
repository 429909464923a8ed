"""Whether writes were refused lately because a disk is full.

Reads go on then, and a look at Postgres finds no fault. A probe that writes would fill the disk more.
"""

import time
from collections.abc import Callable

_REMEMBERED_SECONDS = 60.0


class FullDisk:
    """The last refusal of this process by `storage-full`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused_at: float | None = None

    def note_refusal(self) -> None:
        """Remember that a write was refused just now."""
        self._refused_at = self._clock()

    @property
    def is_recent(self) -> bool:
        """Whether a write was refused in the last minute."""
        return self._refused_at is not None and self._clock() - self._refused_at < _REMEMBERED_SECONDS
