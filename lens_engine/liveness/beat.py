"""Beats: work that scores nothing shows that it moves, and gives the run an occasion to stop.

Scoring has such occasions between two chunks (metering/meter.py). Work without a forward, such as tokenising or fitting
a head, calls `beat` in its loops instead, about once a second or more often. Who runs the work says with `beating` what
a beat does. Without that a beat does nothing, so the functions that beat are as usable outside of a run.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_LEAST_SECONDS = 0.1
"""Shortest time between two beats that are heard, so that a short loop may beat each time."""

_hear: ContextVar[Callable[[], None] | None] = ContextVar("hear", default=None)


def beat() -> None:
    """Show that the work moves.

    Raises:
        Exception: what the callable of `beating` raises, to end the work.
    """
    hear = _hear.get()
    if hear is not None:
        hear()


def with_beats(items: Iterable[T]) -> Iterator[T]:
    """The items, with a beat before each."""
    for item in items:
        beat()
        yield item


@contextmanager
def beating(hear: Callable[[], None]) -> Iterator[None]:
    """A context whose beats call `hear`: the first one, and then at most ten each second.

    An inner context replaces the outer one. Threads that begin in the context do not beat.
    """
    token = _hear.set(_Sparing(hear))
    try:
        yield
    finally:
        _hear.reset(token)


class _Sparing:
    """Passes few of many calls on."""

    def __init__(self, hear: Callable[[], None]) -> None:
        self._hear = hear
        self._next = 0.0

    def __call__(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _LEAST_SECONDS
            self._hear()
