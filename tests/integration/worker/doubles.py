"""Scorers that end a run in every way it can end."""

import errno
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException

from lens_engine.errors import EndpointAway, InvalidConfig, UnreadableModel
from lens_engine.model.base import ScorerIdentity
from lens_engine.testing import TableScorer

LATE = 2
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


def slow() -> TableScorer:
    """Takes half a second for each call."""
    return TableScorer(before_call=lambda _: time.sleep(0.5))


def late() -> TableScorer:
    return _raising(JobTimeoutException("too long"))


_living = weakref.WeakSet[TableScorer]()


class GpuScorer(TableScorer):
    """A TableScorer that says it computes on a GPU. Its numbers are those of a TableScorer."""

    surroundings = ("cuda 13.0", "GPU NVIDIA H200")

    @property
    def identity(self) -> ScorerIdentity:
        return replace(super().identity, device="cuda")


class LivingScorer(TableScorer):
    """Counts the copies of a model that were loaded, and how many of them existed at once."""

    loaded = 0
    most_at_once = 0

    def __init__(self) -> None:
        super().__init__()
        _living.add(self)
        LivingScorer.loaded += 1
        LivingScorer.most_at_once = max(LivingScorer.most_at_once, len(_living))


def living() -> TableScorer:
    return LivingScorer()


def on_gpu() -> TableScorer:
    return GpuScorer()


def interrupted_on_gpu() -> TableScorer:
    shutdown = ShutDownImminentException("shut down imminent", {})  # type: ignore[no-untyped-call]
    return GpuScorer(before_call=_failing_late(shutdown))


def unreadable() -> TableScorer:
    raise UnreadableModel("model 'x' cannot be loaded: model.safetensors is damaged or cut off; download it again")


def without_room() -> TableScorer:
    raise OSError(errno.ENOSPC, "No space left on device")


def without_gpu() -> TableScorer:
    raise InvalidConfig("device 'cuda:0': torch sees no CUDA device here; use auto or cpu", field="device")


def out_of_gpu_memory() -> TableScorer:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")


def losing_its_gpu() -> TableScorer:
    return _raising(RuntimeError("CUDA error: an illegal memory access was encountered"))


def losing_its_model() -> TableScorer:
    return _raising(UnreadableModel("model 'x' cannot be loaded: config.json is missing"))


def absent() -> TableScorer:
    raise EndpointAway("the server of the model 'x' does not answer: ConnectError, after 8 attempts")


def leaving() -> TableScorer:
    return _raising(EndpointAway("the server of the model 'x' does not answer: 503, after 8 attempts"))


def _raising(error: BaseException) -> TableScorer:
    return TableScorer(before_call=_failing_late(error))


def _failing_late(error: BaseException) -> Callable[[int], None]:
    def fail() -> NoReturn:
        raise error

    return lambda call: fail() if call == LATE else None
