"""How many requests are under way at once, and when none may be sent.

A refusal for the rate (429) halves the number; answers raise it again, by one for each round (AIMD).
"""

import asyncio
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FIRST_WIDTH = 8.0


class Gate:
    """Lets a number of requests through at once. All its methods run on the event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._width = min(float(most), _FIRST_WIDTH)
        self._now = 0
        self._not_before = 0.0
        self._free = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._free:
            await self._free.wait_for(lambda: self._now < int(self._width))
            self._now += 1
        try:
            while (wait := self._not_before - time.monotonic()) > 0:
                await asyncio.sleep(wait)
        except asyncio.CancelledError:
            await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        async with self._free:
            self._now -= 1
            self._free.notify_all()

    def hold(self, seconds: float, *, narrows: bool) -> None:
        """Let nothing through for some seconds; a burst of refusals halves the width once."""
        if narrows and time.monotonic() >= self._not_before:
            self._width = max(1.0, self._width / 2)
        self._not_before = max(self._not_before, time.monotonic() + seconds)

    def widen(self) -> None:
        self._width = min(float(self._most), self._width + 1 / self._width)


def read_retry_after(value: str | None) -> float:
    """Seconds of a header `Retry-After`, which has seconds or a date (RFC 9110, section 10.2.3); 0 without one."""
    if not value:
        return 0.0
    try:
        seconds = float(value)
        return seconds if seconds > 0 else 0.0  # also for NaN
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(value).astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):  # no date, or one beyond the year 9999
        return 0.0
