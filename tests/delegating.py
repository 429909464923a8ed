"""A scorer that asks another one for each method that a scorer must have, and for no other."""

from collections.abc import Sequence

from lens_engine.model.base import LabelScorer, Prefix, ScorerIdentity
from lens_engine.types import LabelLogProbs


class Delegating(LabelScorer):
    def __init__(self, scorer: LabelScorer) -> None:
        self.scorer, self.max_prompt_tokens = scorer, scorer.max_prompt_tokens

    @property
    def identity(self) -> ScorerIdentity:
        return self.scorer.identity

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self.scorer.count_tokens(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        return self.scorer.encode_label_spans(label_spans)

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        return self.scorer.score(prefixes, queries, label_spans)
