"""Requests, and when they are sent again.

A flow is a generator. It yields calls, for which it is sent answers, and pauses, and returns what the caller gets.
"""

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from lens_client.errors import Unreachable, problem_of

T = TypeVar("T")

_TRIES = 5
_LONGEST_PAUSE = 30.0
_RETRIED = (429, 503)


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    method: str
    path: str
    arguments: Mapping[str, Any] = field(default_factory=dict)  #: of `httpx.Client.request`
    is_repeatable: bool = True  #: whether a request whose answer was lost may be sent again


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait (seconds)."""

    seconds: float


Flow = Generator[Call | Pause, httpx.Response, T]


def ask(call: Call) -> Flow[httpx.Response]:
    """Send a request, again after `Retry-After` where the service is busy or away.

    Raises:
        Problem: the service refuses.
        Unreachable: it did not answer.
    """
    for left in reversed(range(_TRIES)):
        wait = min(2.0 ** (_TRIES - left - 1), _LONGEST_PAUSE)
        try:
            answer = yield call
        except httpx.TransportError as error:
            if not left or not (call.is_repeatable or isinstance(error, httpx.ConnectError)):
                raise Unreachable(f"{call.method} {call.path}: {error or type(error).__name__}") from error
        else:
            is_busy = answer.status_code in _RETRIED and (call.is_repeatable or answer.status_code == 429)
            is_busy |= answer.is_error and problem_of(answer).code == "idempotency-in-flight"
            if not (is_busy and left):
                if not (answer.is_success or answer.status_code == 304):
                    raise problem_of(answer)
                return answer
            wait = min(read_retry_after(answer, wait), _LONGEST_PAUSE)
        yield Pause(wait)
    raise AssertionError("the last try returns or raises")


def read_retry_after(answer: httpx.Response, usual: float) -> float:
    """The seconds after which the service wants to be asked again."""
    try:
        seconds = float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return usual
    return seconds if 0.0 <= seconds < math.inf else usual
