"""Token ids of label words, for endpoints that take a bias for each token."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import RememberingScorer


@runtime_checkable
class TokenisingScorer(LabelScorer, Protocol):
    """A scorer that can tell the tokens of a label span."""

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[int, ...]]:
        """Token ids of each label span."""
        ...


def find_first_tokens(scorer: LabelScorer, label_spans: Sequence[str]) -> list[int] | None:
    """The first token of each label span; None if two are equal, or the scorer does not know its tokens."""
    if isinstance(scorer, RememberingScorer):
        scorer = scorer.computing
    if not isinstance(scorer, TokenisingScorer):
        return None
    first = [tokens[0] for tokens in scorer.encode_label_spans(label_spans)]
    return first if len(set(first)) == len(first) else None
