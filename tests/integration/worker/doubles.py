"""Scorers that end a run in every way it can end."""

import errno
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NoReturn

from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException

from lens_engine.errors import EndpointAway, InvalidConfig, UnreadableModel
from lens_engine.model.base import ScorerIdentity
from lens_engine.testing import TableScorer

LATE = 2
"""A call of the scorer after the first checkpoint."""

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


def _fail(error: Callable[..., BaseException], *said: object) -> NoReturn:
    raise error(*said)


def _failing(error: Callable[..., BaseException], *said: object, of: type[TableScorer] = TableScorer) -> TableScorer:
    return of(before_call=lambda call: _fail(error, *said) if call == LATE else None)


sound, on_gpu, living = TableScorer, GpuScorer, LivingScorer
narrow = partial(TableScorer, max_prompt_tokens=8)
unsteady = partial(TableScorer, lambda *_: float("nan"))
slow = partial(TableScorer, before_call=lambda _: time.sleep(0.5))
faulty = partial(_failing, RuntimeError, "a fault of ours")
hungry = partial(_failing, MemoryError)
interrupted = partial(_failing, ShutDownImminentException, "shut down imminent", {})
interrupted_on_gpu = partial(interrupted, of=GpuScorer)
late = partial(_failing, JobTimeoutException, "too long")
losing_its_gpu = partial(_failing, RuntimeError, "CUDA error: an illegal memory access was encountered")
losing_its_model = partial(_failing, UnreadableModel, "model 'x' cannot be loaded: config.json is missing")
leaving = partial(_failing, EndpointAway, "the server of the model 'x' does not answer: 503, after 8 attempts")

# These cannot be made.
unreadable = partial(
    _fail, UnreadableModel, "model 'x' cannot be loaded: model.safetensors is damaged or cut off; download it again"
)
without_room = partial(_fail, OSError, errno.ENOSPC, "No space left on device")
without_gpu = partial(
    _fail, partial(InvalidConfig, field="device"), "device 'cuda:0': torch sees no CUDA device here; use auto or cpu"
)
out_of_gpu_memory = partial(_fail, RuntimeError, "CUDA out of memory. Tried to allocate 2.00 GiB")
absent = partial(_fail, EndpointAway, "the server of the model 'x' does not answer: ConnectError, after 8 attempts")
