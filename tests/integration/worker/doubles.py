"""Scorers that end a run in every way it can end."""

from typing import NoReturn

from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException

from lens_engine.testing import TableScorer

LATE = 5
"""A call of the scorer after the first checkpoint."""


def sound() -> TableScorer:
    return TableScorer()


def narrow() -> TableScorer:
    return TableScorer(max_prompt_tokens=8)


def unsteady() -> TableScorer:
    return TableScorer(lambda *_: float("nan"))


def faulty() -> TableScorer:
    return _raising(RuntimeError("a fault of ours"))


def hungry() -> TableScorer:
    return _raising(MemoryError())


def interrupted() -> TableScorer:
    return _raising(ShutDownImminentException("shut down imminent", {}))  # type: ignore[no-untyped-call]


def late() -> TableScorer:
    return _raising(JobTimeoutException("too long"))


def _raising(error: BaseException) -> TableScorer:
    def fail() -> NoReturn:
        raise error

    return TableScorer(before_call=lambda call: fail() if call == LATE else None)
