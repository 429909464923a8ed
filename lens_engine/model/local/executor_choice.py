"""Chooses the fastest executor that agrees with the plain executor for a model."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lens_engine.errors import ModelError
from lens_engine.model.labels import build_label_trie
from lens_engine.model.local.executors import (
    CachedExecutor,
    Executor,
    ExecutorName,
    PackedExecutor,
    PlainExecutor,
    TokenCounters,
    WindowedExecutor,
    Workload,
)
from lens_engine.model.local.memory import naming_memory
from lens_engine.model.local.model_reader import context_length
from lens_engine.model.tokenization import Tokens
from lens_engine.types import LabelLogProbs

# One pack is 260 tokens: longer than the local window of the released GPT-Neo models (256), whose scores
# packing changes. Long queries after short prefixes give the plain executor the fewest tokens.
_PREFIX_LENGTHS = (32, 0, 32)  # two prefixes of equal length, which the cached executor batches
_QUERY_LENGTHS = (9, 70, 32)
_PROMPT_TOKENS = 32 + 70 + 2
_ONE_FORWARD, _SEVERAL_FORWARDS = 4096, 64
_ONE_PROMPT = 1

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.5, torch.float16: 0.1}
"""Largest |Δ log p| that counts as rounding (nats), by number format; a wrong mask gives more than 1."""

_SLACK = 0.25  # share of the tolerance above; the plain executor may round less than usual by chance
_SURELY_WRONG = 1.0  # nats
_SHORT_OF_MEMORY = (
    "while the model was tried on a few random prompts; use a smaller model, a 16-bit dtype or another device"
)


# Packing gives wrong numbers without an error on some architectures: those with windows by index, biases by
# distance, or a state passed from token to token. So every loaded model is checked, whatever its architecture.
def make_check_workload(vocabulary_size: int, max_prompt_tokens: int) -> Workload:
    """Three prefixes (one empty) with three queries each, and label words of one and of two tokens."""
    shrink = min(1.0, max_prompt_tokens / _PROMPT_TOKENS)
    generator = np.random.default_rng(0)

    def draw(length: int) -> Tokens:
        return tuple(generator.integers(0, vocabulary_size, size=int(length * shrink)).tolist())

    first, second, third = generator.choice(vocabulary_size, size=3, replace=False).tolist()
    trie = build_label_trie(("short", "long"), ((first,), (second, third)))
    return Workload(tuple(draw(n) for n in _PREFIX_LENGTHS), tuple(draw(max(n, 7)) for n in _QUERY_LENGTHS), trie)


def run_check(executor: Executor, work: Workload) -> LabelLogProbs:
    """Run the workload in one forward; the plain executor runs one prompt at a time  # [prefixes, queries, labels]."""
    with torch.inference_mode(), naming_memory(_SHORT_OF_MEMORY):
        return executor.run(work, _ONE_PROMPT if executor.name == "plain" else _ONE_FORWARD)


def run_in_parts(executor: Executor, work: Workload) -> LabelLogProbs:
    """Run only the first label word, whose one token needs no trie, in several forwards  # [prefixes, queries, 1]."""
    token = work.trie.reads[0][0][1]
    alone = Workload(work.prefixes, work.queries, build_label_trie(("short",), ((token,),)))
    with torch.inference_mode(), naming_memory(_SHORT_OF_MEMORY):
        return executor.run(alone, _SEVERAL_FORWARDS)


def disagreement(label_log_probs: LabelLogProbs, expected: LabelLogProbs) -> float:
    """Largest |Δ log p| (nats); infinite if either array is not finite."""
    delta = np.abs(label_log_probs - expected)
    return float(delta.max()) if np.isfinite(delta).all() else float("inf")


@dataclass(frozen=True, slots=True)
class Yardstick:
    """The scores that an executor must give on the check's workload, and how far it may miss them."""

    scores: LabelLogProbs  #: [prefixes, queries, labels]
    tolerance: float  #: largest |Δ log p| that counts as rounding (nats)

    def measure(self, executor: Executor, work: Workload) -> float:
        """Largest |Δ log p| of the executor, in one forward and in several (nats)."""
        whole = disagreement(run_check(executor, work), self.scores)
        return max(whole, disagreement(run_in_parts(executor, work), self.scores[..., :1]))


def make_yardstick(plain: LabelLogProbs, dtype: torch.dtype, reference: LabelLogProbs | None = None) -> Yardstick:
    """What to measure executors by.

    Two right executors may differ by more in 16 bits the larger the model is. So a reference in float32 says how much
    the model rounds: another executor may be off by twice as much as the plain one. If that would let a wrong mask
    pass, or without a reference, the plain executor's scores are the measure, with a tolerance for all models.

    `plain` and `reference` are scores of the plain executor, in the model's number format `dtype` and in float32.
    """
    if reference is not None:
        tolerance = 2 * disagreement(plain, reference) + _SLACK * TOLERANCE[dtype]
        if tolerance <= _SURELY_WRONG:
            return Yardstick(reference, tolerance)
    return Yardstick(plain, TOLERANCE[dtype])


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
