"""The fastest executor that gives this model's own numbers."""

import logging
from collections.abc import Sequence
from typing import Any

from lens_engine.errors import ModelError
from lens_engine.scoring.executors import (
    CachedExecutor,
    Executor,
    ExecutorName,
    PackedExecutor,
    PlainExecutor,
    TokenCounters,
    Workload,
)
from lens_engine.scoring.executors.packed import ATTENTION_NAME, PackedExecutionError
from lens_engine.scoring.self_check import TOLERANCE, disagreement, run_check
from lens_engine.types import LabelLogProbs

EXECUTORS: dict[ExecutorName, type[Executor]] = {
    "packed": PackedExecutor,
    "cached": CachedExecutor,
    "plain": PlainExecutor,
}
"""From fast to slow."""

# What an architecture that does not fit an executor may raise; anything else is a fault of ours.
_MISFITS = (RuntimeError, ValueError, TypeError, AttributeError, NotImplementedError, LookupError, AssertionError)

_log = logging.getLogger(__name__)


def choose_executor(model: Any, names: Sequence[ExecutorName], work: Workload) -> ExecutorName:
    """The first of `names` that agrees with the plain executor on `work`, in the format of the model's weights.

    Leaves the model set up for the executor it returns.

    Raises:
        ModelError: none of them agrees.
    """
    if names[0] == "plain":
        return "plain"
    original = model.config._attn_implementation
    expected = run_check(PlainExecutor(model, TokenCounters()), work)
    failures = []
    for name in names:
        failure = _try_executor(model, name, work, expected)
        if failure is None:
            return name
        model.set_attn_implementation(original)
        _log.info("executor %s does not suit this model: %s", name, failure)
        failures.append(f"{name}: {failure}")
    raise ModelError(f"no executor is right for this model ({'; '.join(failures)}); use executor plain")


def set_up(model: Any, name: ExecutorName) -> None:
    """Give the model the attention that the executor needs.

    Raises:
        PackedExecutionError: the architecture cannot have it.
    """
    if name != "packed":
        return
    if not model._supports_attention_backend:
        raise PackedExecutionError("the architecture does not look up its attention function")
    windows = {kind for kind in getattr(model.config, "layer_types", None) or () if kind != "full_attention"}
    if windows:
        raise PackedExecutionError(f"layers of type {', '.join(sorted(windows))} are not full attention")
    model.set_attn_implementation(ATTENTION_NAME)
    if model.config._attn_implementation != ATTENTION_NAME:  # transformers warns, and stays with another
        raise PackedExecutionError("the architecture did not take the registered attention function")


def _try_executor(model: Any, name: ExecutorName, work: Workload, expected: LabelLogProbs) -> str | None:
    """Why the executor is wrong for the model; None if it is right."""
    if name == "plain":
        return None
    try:
        set_up(model, name)
        delta = disagreement(run_check(EXECUTORS[name](model, TokenCounters()), work), expected)
    except _MISFITS as error:
        return f"{type(error).__name__}: {error}"
    tolerance = TOLERANCE[next(model.parameters()).dtype]
    return None if delta <= tolerance else f"log-probabilities differ by {delta:.2g}, more than {tolerance:g}"
