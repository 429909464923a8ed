"""Chooses the fastest executor that agrees with the plain executor for a model."""

import logging
from collections.abc import Sequence
from typing import Any

from lens_engine.errors import ModelError
from lens_engine.language_model.loading.self_check import TOLERANCE, disagreement, run_check, run_in_parts
from lens_engine.scoring.executors import (
    CachedExecutor,
    Executor,
    ExecutorName,
    PackedExecutor,
    PlainExecutor,
    TokenCounters,
    Workload,
)
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


def choose_executor(model: Any, names: Sequence[ExecutorName], work: Workload) -> ExecutorName:
    """The first of `names` that agrees with the plain executor on `work`, in the format of the model's weights.

    Raises:
        ModelError: none of them agrees.
    """
    if names[0] == "plain":
        return "plain"
    expected = run_check(PlainExecutor(model, TokenCounters()), work)
    failures = []
    for name in names:
        failure = _try_executor(model, name, work, expected)
        if failure is None:
            return name
        _log.info("executor %s does not suit this model: %s", name, failure)
        failures.append(f"{name}: {failure}")
    raise ModelError(f"no executor is right for this model ({'; '.join(failures)}); use executor plain")


def _try_executor(model: Any, name: ExecutorName, work: Workload, expected: LabelLogProbs) -> str | None:
    """Why the executor is wrong for the model; None if it is right."""
    if name == "plain":
        return None
    try:
        executor = EXECUTORS[name](model, TokenCounters())
        whole = disagreement(run_check(executor, work), expected)
        delta = max(whole, disagreement(run_in_parts(executor, work), expected[..., :1]))
    except _MISFITS as error:
        return f"{type(error).__name__}: {error}"
    tolerance = TOLERANCE[next(model.parameters()).dtype]
    return None if delta <= tolerance else f"log-probabilities differ by {delta:.2g}, more than {tolerance:g}"
