"""A scorer that counts tokens and scores nothing: what prices a run where no model is loaded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from lens_engine.scoring.base import Prefix, ScorerIdentity

_UNBOUNDED = 10**9


@dataclass(frozen=True)
class CountingScorer:
    """Stands for a model whose weights a worker loads. Without its tokenizer, four characters count as a token."""

    model: str
    count: Callable[[Sequence[str]], list[int]] | None
    max_prompt_tokens: int = _UNBOUNDED
    num_layers: int = 1  #: 0 for a model that shows no hidden states, as one behind a server

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity(self.model, "", "float32", "cpu", "plain")

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        if self.count is not None:
            return self.count(segments)
        return [-(-len(segment) // 4) for segment in segments]

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[str, ...]]:
        """Each is one token: what ends label words is a token at most, and does not count in an estimate."""
        return [(span,) for span in label_spans]

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> NoReturn:
        raise NotImplementedError("this scorer counts tokens alone")

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> NoReturn:
        raise NotImplementedError("this scorer counts tokens alone")
