"""Times of answers, and the memory of a server while they were taken."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from lab.benchmarks.load.servers import Server

_LOOK_SECONDS = 0.1


@dataclass
class Times:
    """How long answers took, counted from when the request was due (seconds), and their statuses."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def note(self, seconds: float, status: int) -> None:
        self.seconds.append(seconds)
        self.statuses[status] += 1

    def milliseconds(self, percent: float) -> float:
        return float(np.percentile(self.seconds, percent)) * 1000 if self.seconds else float("nan")

    def describe(self) -> str:
        counts = ", ".join(f"{status}: {self.statuses[status]}" for status in sorted(self.statuses))
        return f"p50 {self.milliseconds(50):.1f} ms, p99 {self.milliseconds(99):.1f} ms ({counts})"


def ratios(ours: Times, bare: Times) -> str:
    """Our times in units of the bare endpoint's."""
    return ", ".join(
        f"p{percent} x{ours.milliseconds(percent) / bare.milliseconds(percent):.1f}" for percent in (50, 99)
    )


@dataclass
class Peak:
    """Largest memory of a server and its children (bytes)."""

    server: Server
    most: int = 0

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch

    async def _watch(self) -> None:
        while True:
            self.most = max(self.most, await asyncio.to_thread(self.server.rss_bytes))
            await asyncio.sleep(_LOOK_SECONDS)
