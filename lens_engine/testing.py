"""Doubles that honour the engine's contracts, for tests of the engine and of what is built on it.

`TableScorer` is a `LabelScorer` without a model: known answers, no torch.
"""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from lens_engine.scoring.base import Prefix, ScorerIdentity
from lens_engine.scoring.labels import check_distinct
from lens_engine.scoring.limits import check_finite, check_prompt_lengths
from lens_engine.types import LabelLogProbs

LogProbTable = Callable[[Prefix, str, str], float]
"""log p(label span | prefix ⊕ query)."""


def hashed_log_prob(prefix: Prefix, query: str, label_span: str) -> float:
    """A log-probability in [-8, 0) that depends on nothing but the three texts."""
    text = "\x1f".join((*prefix, "\x1e", query, label_span))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -8.0 * (int.from_bytes(digest, "big") + 1) / 2**64


class TableScorer:
    """Scores by a function of the texts instead of a model; a token is a whitespace-separated word.

    Args:
        log_prob: the answer for one prefix, query and label span; a hash of them if not given.
        before_call: called with the number of the call (from 0) before each `score`: sleep in it to
            be slow, raise in it to fail.
        max_prompt_tokens: prompts longer than this raise `PromptTooLong`.
        name: stands in `identity.model`.

    `num_calls` and `num_pairs` count what was asked; `calls` keeps (P, Q, L) of each call.
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
        self._max_prompt_tokens = max_prompt_tokens
        self._name = name
        self.calls: list[tuple[int, int, int]] = []

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity(self._name, revision="0" * 64, dtype="float32", device="cpu", executor="plain")

    @property
    def max_prompt_tokens(self) -> int:
        return self._max_prompt_tokens

    @property
    def num_calls(self) -> int:
        return len(self.calls)

    @property
    def num_pairs(self) -> int:
        return sum(prefixes * queries for prefixes, queries, _ in self.calls)

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return [len(segment.split()) for segment in segments]

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        check_distinct(label_spans, [span.split() for span in label_spans])
        check_prompt_lengths(
            [sum(self.count_tokens(prefix)) for prefix in prefixes],
            self.count_tokens(queries),
            max(self.count_tokens(label_spans)),
            self._max_prompt_tokens,
        )
        if self._before_call is not None:
            self._before_call(self.num_calls)
        self.calls.append((len(prefixes), len(queries), len(label_spans)))
        label_log_probs: LabelLogProbs = np.array(  # [prefixes, queries, labels]
            [[[self._log_prob(p, q, span) for span in label_spans] for q in queries] for p in prefixes],
            dtype=np.float32,
        ).reshape(len(prefixes), len(queries), len(label_spans))
        check_finite(label_log_probs, label_spans)
        return label_log_probs
