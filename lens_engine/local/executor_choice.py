"""Chooses the fastest executor that agrees with the plain executor for a model."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lens_engine.errors import ModelError
from lens_engine.local.executors import (
    CachedExecutor,
    Executor,
    ExecutorName,
    PackedExecutor,
    PlainExecutor,
    TokenCounters,
    WindowedExecutor,
    Workload,
)
from lens_engine.local.model_reader import context_length
from lens_engine.local.self_check import Yardstick, make_yardstick, run_check
from lens_engine.types import LabelLogProbs

EXECUTORS: dict[ExecutorName, type[Executor]] = {
    "packed": PackedExecutor,
    "cached": CachedExecutor,
    "plain": PlainExecutor,
}
"""From fast to slow."""

# Errors that an unsuitable architecture may raise in an executor. Any other error is a bug of this package.
_MISFITS = (RuntimeError, ValueError, TypeError, AttributeError, NotImplementedError, LookupError, AssertionError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExecutorChoice:
    """The executor to use for a model."""

    name: ExecutorName
    refused: str | None = None  #: why each faster executor was refused; None if none was
    window: int | None = None  #: longest prompt of this executor (tokens); None if it runs all
    beyond: ExecutorName | None = None  #: runs the calls with a longer prompt

    @property
    def note(self) -> str | None:
        """What a user should know of the choice, in words."""
        if self.beyond is None:
            return self.refused
        windowed = (
            f"{self.name}: up to {self.window} tokens, the window of the model's sliding attention; "
            f"calls with a longer prompt run {self.beyond}"
        )
        return "; ".join(filter(None, [self.refused, windowed]))

    def make(self, model: Any, counters: TokenCounters) -> Executor:
        """The executor over a model."""
        executor = EXECUTORS[self.name](model, counters)
        if self.window is None or self.beyond is None:
            return executor
        return WindowedExecutor(executor, EXECUTORS[self.beyond](model, counters), self.window)


def choose_executor(
    model: Any,
    names: Sequence[ExecutorName],
    work: Workload,
    reference: LabelLogProbs | None = None,
    *,
    beyond: Sequence[ExecutorName] = ("cached", "plain"),
) -> ExecutorChoice:
    """The first of `names` that agrees with the plain executor on `work`, in the format of the model's weights.

    Args:
        model: a transformers model.
        names: executors to try, the fastest first.
        work: see `make_check_workload`.
        reference: scores of the plain executor with the model in float32  # [prefixes, queries, labels].
        beyond: executors to try for prompts that exceed the model's window, the fastest first; the last is plain.

    Raises:
        ModelError: none of them agrees.
        OutOfMemory: memory ran out, which says nothing about an executor.
    """
    if names[0] == "plain":
        return ExecutorChoice("plain")
    plain = run_check(PlainExecutor(model, TokenCounters()), work)
    yardstick = make_yardstick(plain, next(model.parameters()).dtype, reference)
    failures = list[str]()
    for name in names:
        failure = _try_executor(model, name, work, yardstick)
        if failure is None:
            refused, window = "; ".join(failures) or None, _find_limit(model, name)
            if window is None:
                return ExecutorChoice(name, refused)
            suitable = (other for other in beyond if _try_executor(model, other, work, yardstick) is None)
            return ExecutorChoice(name, refused, window, next(suitable))
        failures.append(f"{name}: {failure}")
    raise ModelError(f"no executor is right for this model ({'; '.join(failures)}); use executor plain")


def _find_limit(model: Any, name: ExecutorName) -> int | None:
    """Longest prompt that the executor runs (tokens); None if it runs every prompt that fits the context."""
    if name != "packed":
        return None
    window = PackedExecutor(model, TokenCounters()).window
    return window if window is not None and window < context_length(model) else None


def _try_executor(model: Any, name: ExecutorName, work: Workload, yardstick: Yardstick) -> str | None:
    """Why the executor is wrong for the model; None if it is right."""
    if name == "plain":
        return None
    try:
        delta = yardstick.measure(EXECUTORS[name](model, TokenCounters()), work)
    except _MISFITS as error:
        return f"{type(error).__name__}: {error}"
    _log.info("executor %s: log-probabilities differ by %.2g nats of %.2g", name, delta, yardstick.tolerance)
    if delta <= yardstick.tolerance:
        return None
    return f"log-probabilities differ by {delta:.2g}, more than {yardstick.tolerance:.2g}"
