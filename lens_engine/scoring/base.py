"""The one contract between the algorithms and a language model.

Everything LENS asks is one question: for each prefix (zero or more demonstrations), each query and
each label word, what is log p(label word | prefix ⊕ query)? Zero-shot, one-shot contributions
(Eq. 3), evaluating a permutation, and contextual calibration are all calls of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from lens_engine.types import LabelLogProbs

Prefix = tuple[str, ...]
"""Rendered demonstrations, each one segment that is tokenised apart; () is zero-shot."""


@dataclass(frozen=True, slots=True)
class Block:
    """Prefixes and queries that are scored in one call, each with each."""

    prefixes: tuple[Prefix, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScorerIdentity:
    """What decides the numbers a scorer returns; part of provenance and of the result's digest."""

    model: str
    revision: str  #: of the model's files: a SHA-256, or the hub's commit
    dtype: str  #: "float32", "bfloat16" or "float16"
    device: str
    executor: str  #: how prompts are run: "packed", "cached" or "plain"
    token_budget: int | None = None  #: tokens a forward may feed; halved, for good, when memory runs out


class LabelScorer(Protocol):
    """Scores label words after prompts. Implementations are deterministic: same call, same bits."""

    @property
    def identity(self) -> ScorerIdentity: ...

    @property
    def max_prompt_tokens(self) -> int:
        """The model's context, label word included."""
        ...

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """Tokens of each segment, tokenised apart as `score` does, without special tokens."""
        ...

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        """Score every prefix with every query.

        Args:
            prefixes: P prefixes; each is computed once, however many queries share it.
            queries: Q rendered inputs, each up to, not including, the label word; not empty.
            label_spans: L label words as they stand in the text, leading space included. They may
                have several tokens and share first tokens; no two may be the same tokens.

        Returns:
            `label_log_probs  # [P, Q, L]` float32: natural log of the joint probability of the
            span's tokens.

        Raises:
            PromptTooLong: a prompt with its longest label span exceeds `max_prompt_tokens`.
            InvalidVerbalizer: two spans have the same tokens; both are named.
            NonFiniteScore: the model gave NaN or an infinity.
        """
        ...


@runtime_checkable
class ParallelScorer(LabelScorer, Protocol):
    """A scorer with several workers, each of which gives the same bits for the same block."""

    @property
    def num_workers(self) -> int: ...

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """Score blocks side by side; `[P, Q, L]` of each, as `score` gives it, in the order of the blocks.

        A block is taken from `blocks` when a worker can soon begin with it, in the caller's thread, and
        whatever has been taken is scored and given back, also when `blocks` ends early.

        Raises:
            LensError: as `score`, when it is the turn of the block that failed.
        """
        ...


def score_blocks(scorer: LabelScorer, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
    """As `ParallelScorer.score_blocks`; a scorer without workers takes one block after the other."""
    if isinstance(scorer, ParallelScorer):
        yield from scorer.score_blocks(blocks, label_spans)
        return
    for block in blocks:
        yield scorer.score(block.prefixes, block.queries, label_spans)
