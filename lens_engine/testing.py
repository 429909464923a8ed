"""Test doubles that honour the engine's contracts, for tests of the engine and of programs that use it.

`TableScorer` is a `LabelScorer` with known answers; it needs no model and no torch.
"""

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np

from lens_engine.model.base import LabelScorer, Prefix, ScorerIdentity
from lens_engine.model.labels import check_distinct
from lens_engine.model.limits import check_finite, check_layers, check_pair_lengths, check_prompt_lengths
from lens_engine.types import POOLINGS, LabelLogProbs, States

LogProbTable = Callable[[Prefix, str, str], float]
"""log p(label span | prefix ⊕ query)."""

_WORDS_AND_BREAKS = re.compile(r"\n|\S+")


def hashed_log_prob(prefix: Prefix, query: str, label_span: str) -> float:
    """A log-probability in [-8, 0) (nats) that depends only on the three texts."""
    text = "\x1f".join((*prefix, "\x1e", query, label_span))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -8.0 * (int.from_bytes(digest, "big") + 1) / 2**64


class TableScorer(LabelScorer):
    """A `LabelScorer` that computes its scores by a function of the texts. A token is a whitespace-separated word; in a
    label span a line break is one too.

    Args:
        log_prob: returns the log-probability of one prefix, query and label span; by default a hash of the three.
        before_call: called before each `score` or `score_pairs` with the number of the call (from 0). It may sleep to
            simulate a slow model, or raise to simulate a failure.
        max_prompt_tokens: longer prompts raise `PromptTooLong`.
        name: value of `identity.model`.

    `num_calls` and `num_pairs` count the calls and the pairs scored. `calls` holds (P, Q, L) of each call, and
    (1, pairs, L) of a call of `score_pairs`.
    """

    def __init__(
        self,
        log_prob: LogProbTable = hashed_log_prob,
        *,
        before_call: Callable[[int], None] | None = None,
        max_prompt_tokens: int = 2048,
        name: str = "table",
    ) -> None:
        self._log_prob = log_prob
        self._before_call = before_call
        self.max_prompt_tokens = max_prompt_tokens
        self._name = name
        self.calls: list[tuple[int, int, int]] = []

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity(self._name, revision="0" * 64, dtype="float32", device="cpu", executor="plain")

    @property
    def num_calls(self) -> int:
        return len(self.calls)

    @property
    def num_pairs(self) -> int:
        return sum(prefixes * queries for prefixes, queries, _ in self.calls)

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return [len(segment.split()) for segment in segments]

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(_WORDS_AND_BREAKS.findall(span)) for span in label_spans]

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        self._check(check_prompt_lengths, prefixes, queries, label_spans)
        pairs = [(prefix, query) for prefix in prefixes for query in queries]
        return self._answer(pairs, (len(prefixes), len(queries)), label_spans)

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        pairs = list(zip(prefixes, queries, strict=True))
        self._check(check_pair_lengths, prefixes, queries, label_spans)
        label_log_probs: LabelLogProbs = self._answer(pairs, (1, len(pairs)), label_spans)[0]
        return label_log_probs

    def _check(
        self,
        check_lengths: Callable[[Sequence[int], Sequence[int], int, int], None],
        prefixes: Sequence[Prefix],
        queries: Sequence[str],
        label_spans: Sequence[str],
    ) -> None:
        check_distinct(label_spans, self.encode_label_spans(label_spans))
        held = [sum(self.count_tokens(prefix)) for prefix in prefixes]
        longest = max(self.count_tokens(label_spans))
        check_lengths(held, self.count_tokens(queries), longest, self.max_prompt_tokens)

    def _answer(
        self, pairs: Sequence[tuple[Prefix, str]], shape: tuple[int, int], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        """`label_log_probs  # [*shape, labels]`; counts a call."""
        if self._before_call is not None:
            self._before_call(self.num_calls)
        self.calls.append((*shape, len(label_spans)))
        values = [self._log_prob(prefix, query, span) for prefix, query in pairs for span in label_spans]
        label_log_probs: LabelLogProbs = np.array(values, dtype=np.float32).reshape(*shape, len(label_spans))
        check_finite(label_log_probs, label_spans)
        return label_log_probs


class StatesTableScorer(TableScorer):
    """A `TableScorer` that also shows hidden states: random vectors that depend only on texts, layer and pooling."""

    num_layers = 4

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        check_layers(layers, self.num_layers)
        self.calls.append((1, len(queries), 0))

        def draw(layer: int, pooling: str, query: str) -> list[float]:
            return [1 + hashed_log_prob(prefix, query, f"{layer} {pooling} {place}") / 4 for place in range(8)]

        found = [[[draw(layer, one, query) for query in queries] for one in POOLINGS] for layer in layers]
        return np.array(found, dtype=np.float32).reshape(len(layers), len(POOLINGS), len(queries), 8)
