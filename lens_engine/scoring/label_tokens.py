"""Token ids of label words, for endpoints that take a bias for each token."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import find_computing


@runtime_checkable
class TokenisingScorer(LabelScorer, Protocol):
    """A scorer that can tell the tokens of a label span."""

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[int, ...]]:
        """Token ids of each label span."""
        ...


def find_tokens(scorer: LabelScorer, label_spans: Sequence[str]) -> list[int] | None:
    """The token of each label span; None if a span has several, two are equal, or the scorer knows no tokens."""
    scorer = find_computing(scorer)
    if not isinstance(scorer, TokenisingScorer):
        return None
    encoded = scorer.encode_label_spans(label_spans)
    has_one_each = all(len(tokens) == 1 for tokens in encoded) and len(set(encoded)) == len(encoded)
    return [tokens[0] for tokens in encoded] if has_one_each else None
