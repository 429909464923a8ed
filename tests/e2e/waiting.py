"""Waiting on conditions: a test never sleeps for a time that it hopes is enough."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T | None], what: str, seconds: float = 45.0) -> T:
    """The first true value of `condition`; AssertionError with `what` when it takes too long.

    It asks less often the longer it waits: to ask takes time of a processor from what is waited for.
    """
    began = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited = time.monotonic() - began
        assert waited < seconds, f"waited {seconds:.0f} s for: {what}"
        time.sleep(min(0.02 + waited / 20, 0.2))
