"""Waiting on conditions: a test never sleeps for a time that it hopes is enough."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T | None], what: str, seconds: float = 45.0) -> T:
    """The first true value of `condition`; AssertionError with `what` when it takes too long."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for: {what}"
        time.sleep(0.02)
