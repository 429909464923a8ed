"""Stops a call of the scorer between two decoder layers, so that one long prompt does not hold a stop for minutes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local

_SECONDS = 0.2
"""Least time between two looks."""


class _Watch(local):
    look: Callable[[], None] | None = None
    next_look = 0.0


_watch = _Watch()


@contextmanager
def interrupted_by(look: Callable[[], None]) -> Iterator[None]:
    """A context in which `look` is called now and then while this thread computes. What it raises ends the forward."""
    before, _watch.look = _watch.look, look
    try:
        yield
    finally:
        _watch.look = before


def look_up(*_: object) -> None:
    """Call what the context names, if the last time was not just now. A hook before each decoder layer."""
    if _watch.look is None or time.monotonic() < _watch.next_look:
        return
    _watch.next_look = time.monotonic() + _SECONDS
    _watch.look()
