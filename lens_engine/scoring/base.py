"""The one contract between the algorithms and a language model.

LENS needs one operation: for each prefix (zero or more demonstrations), each query and each label
word, compute log p(label word | prefix ⊕ query). Zero-shot scores, one-shot contributions (Eq. 3),
the judging of a permutation and contextual calibration are all calls of this operation.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, runtime_checkable

from lens_engine.types import LabelLogProbs

Prefix = tuple[str, ...]
"""Rendered demonstrations, each a segment that is tokenised alone; () is zero-shot."""


@dataclass(frozen=True, slots=True)
class Block:
    """Prefixes and queries of one call; every prefix is scored with every query."""

    prefixes: tuple[Prefix, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScorerIdentity:
    """The properties of a scorer that decide its numbers, and a note; part of the provenance of a result."""

    model: str
    revision: str  #: SHA-256 of the model's files, or the hub's commit
    dtype: str  #: "float32", "bfloat16" or "float16"
    device: str
    executor: str  #: "packed", "cached" or "plain"
    token_budget: int | None = None  #: largest forward (tokens); halved permanently when memory runs out
    executor_note: str | None = field(default=None, compare=False)  #: why faster ones were refused; decides nothing

    def decisive(self) -> dict[str, Any]:
        """The properties that decide numbers, by name: all but the note."""
        return {name: value for name, value in asdict(self).items() if name != "executor_note"}


class LabelScorer(Protocol):
    """Scores label words after prompts. An implementation is deterministic: equal calls give equal bits."""

    @property
    def identity(self) -> ScorerIdentity: ...

    @property
    def max_prompt_tokens(self) -> int:
        """Longest prompt with its label word (tokens): the model's context."""
        ...

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """Number of tokens of each segment, tokenised alone as in `score`, without special tokens."""
        ...

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        """Score every prefix with every query.

        Args:
            prefixes: P prefixes; each is computed once for all queries.
            queries: Q rendered inputs, each ending before the label word; none is empty.
            label_spans: L label words as they occur in the text, with the leading space. A span may have several
                tokens, and two spans may share first tokens; no two spans may have equal tokens.

        Returns:
            `label_log_probs  # [P, Q, L]` float32: natural log of the joint probability of the
            span's tokens.

        Raises:
            PromptTooLong: a prompt with its longest label span exceeds `max_prompt_tokens`.
            InvalidVerbalizer: two spans have equal tokens; the message names both.
            NonFiniteScore: the model returned NaN or an infinity.
        """
        ...


@runtime_checkable
class ParallelScorer(LabelScorer, Protocol):
    """A scorer with several workers; every worker gives equal bits for equal blocks."""

    @property
    def num_workers(self) -> int: ...

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """Score blocks in parallel; yields `[P, Q, L]` for each, as `score`, in the order of the blocks.

        The caller's thread takes a block from `blocks` when a worker can soon start it. Every block taken is scored
        and yielded, even if `blocks` ends early.

        Raises:
            LensError: as `score`; raised in place of the failed block's scores.
        """
        ...


def score_blocks(scorer: LabelScorer, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
    """As `ParallelScorer.score_blocks`; a scorer without workers scores one block after the other."""
    if isinstance(scorer, ParallelScorer):
        yield from scorer.score_blocks(blocks, label_spans)
        return
    for block in blocks:
        yield scorer.score(block.prefixes, block.queries, label_spans)
