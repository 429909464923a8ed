"""The one contract between the algorithms and a language model.

LENS needs one operation: for each prefix (zero or more demonstrations), each query and each label
word, compute log p(label word | prefix ⊕ query). Zero-shot scores, one-shot contributions (Eq. 3),
the judging of a permutation and contextual calibration are all calls of this operation. Where each
query has demonstrations of its own, query i is asked after prefix i alone (`score_pairs`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from lens_engine.prompt.template import Task
from lens_engine.types import LabelLogProbs

Prefix = tuple[str, ...]
"""Rendered demonstrations, each a segment that is tokenised alone; () is zero-shot."""


@dataclass(frozen=True, slots=True)
class Block:
    """Prefixes and queries of one call; every prefix is scored with every query.

    In a paired block, query i is scored after prefix i alone. Its scores have one row  # [1, Q, L].

    Raises:
        ValueError: a paired block has not as many prefixes as queries.
    """

    prefixes: tuple[Prefix, ...]
    queries: tuple[str, ...]
    is_paired: bool = False

    def __post_init__(self) -> None:
        if self.is_paired and len(self.prefixes) != len(self.queries):
            raise ValueError(f"{len(self.queries)} queries have {len(self.prefixes)} prefixes; each needs its own")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the scores: prefixes and queries, or 1 and the number of pairs."""
        return 1 if self.is_paired else len(self.prefixes), len(self.queries)

    @property
    def num_pairs(self) -> int:
        rows, columns = self.shape
        return rows * columns


SERVER = "endpoint"
"""The device of a scorer that asks a server."""


@dataclass(frozen=True, slots=True)
class ScorerIdentity:
    """The properties of a scorer that decide its numbers, and a note; part of the provenance of a result."""

    model: str
    revision: str  #: SHA-256 of the model's files, or the hub's commit
    dtype: str  #: "float32", "bfloat16" or "float16"
    device: str
    executor: str  #: "packed", "cached" or "plain"
    token_budget: int | None = None  #: largest forward (tokens); halved permanently when memory runs out
    executor_note: str | None = field(default=None, compare=False)  #: in words; decides nothing
    #: executor of the calls with a prompt that exceeds the window of the model's sliding attention; None without one
    beyond_window: str | None = None

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

    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        """Tokens of each label span after a query, as `score` reads them."""
        ...

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        """Score every prefix with every query.

        Args:
            prefixes: P prefixes; each is computed once for all queries.
            queries: Q rendered inputs, each ending before the label word; none is empty.
            label_spans: L label words as they occur in the text, with the leading space. A span may have several
                tokens, and two spans may share first tokens; no two spans may have equal tokens. If all tokens of
                one begin another, the other is never the likelier: the spans of `scoring.asking.fit_task` are not so.

        Returns:
            `label_log_probs  # [P, Q, L]` float32: natural log of the joint probability of the
            span's tokens.

        Raises:
            PromptTooLong: a prompt with its longest label span exceeds `max_prompt_tokens`.
            InvalidVerbalizer: two spans have equal tokens; the message names both.
            NonFiniteScore: the model returned NaN or an infinity.
        """
        ...


class OpenModel(Protocol):
    """A model that holds its scorer, as `open_model` returns it."""

    @property
    def scorer(self) -> LabelScorer: ...


def find_scorer(model: LabelScorer | OpenModel) -> LabelScorer:
    """The scorer of an open model; a scorer is its own.

    Raises:
        TypeError: it is neither.
    """
    found = model if hasattr(model, "count_tokens") else getattr(model, "scorer", None)
    if found is None:
        wanted = f"open_model({model!r})" if isinstance(model, str) else "the model that open_model returns"
        raise TypeError(f"the model is of type {type(model).__name__}; give {wanted}, or a LabelScorer")
    return cast(LabelScorer, found)


@runtime_checkable
class PairScorer(LabelScorer, Protocol):
    """A scorer that scores many queries, each after its own prefix, in one call."""

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        """Score each query after its own prefix.

        Args:
            prefixes: as many as queries; query i follows prefix i.
            queries, label_spans: as `LabelScorer.score`.

        Returns:
            `label_log_probs  # [pairs, L]` float32; those of `LabelScorer.score` for each pair alone, up to rounding.

        Raises:
            ValueError: there are not as many prefixes as queries.
            LensError: as `LabelScorer.score`.
        """
        ...


@runtime_checkable
class ParallelScorer(LabelScorer, Protocol):
    """A scorer with several workers; every worker gives equal bits for equal blocks."""

    @property
    def num_workers(self) -> int: ...

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """Score blocks in parallel; yields `[P, Q, L]` for each, as `score`, in the order of the blocks.

        A paired block gives `[1, Q, L]`.

        The caller's thread takes a block from `blocks` when a worker can soon start it. Every block taken is scored
        and yielded, even if `blocks` ends early.

        Raises:
            LensError: as `score`; raised in place of the failed block's scores.
        """
        ...


@runtime_checkable
class AskingScorer(LabelScorer, Protocol):
    """A scorer that asks a server."""

    @property
    def takes_turns(self) -> bool:
        """Whether its prompts are turns of a chat; then it scores tasks of `fit_task`, and no others."""
        ...

    @property
    def gives_answers_only(self) -> bool:
        """Whether its scores are one sampled answer each: which label is the likeliest, and no probabilities."""
        ...

    def fit_task(self, task: Task) -> Task:
        """The task as the model is asked; equal tasks give equal ones.

        Raises:
            InvalidVerbalizer: the model's answers do not tell the label words apart.
            EndpointError: the server refuses.
        """
        ...


def score_blocks(scorer: LabelScorer, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
    """As `ParallelScorer.score_blocks`; a scorer without workers scores one block after the other."""
    if isinstance(scorer, ParallelScorer):
        yield from scorer.score_blocks(blocks, label_spans)
        return
    for block in blocks:
        yield score_block(scorer, block, label_spans)


def score_block(scorer: LabelScorer, block: Block, label_spans: Sequence[str]) -> LabelLogProbs:
    """`label_log_probs  # [P, Q, L]` of a block, `[1, Q, L]` of a paired one, by one worker.

    A scorer that is no `PairScorer` is asked for one pair after the other.
    """
    if not block.is_paired:
        return scorer.score(block.prefixes, block.queries, label_spans)
    if isinstance(scorer, PairScorer):
        return scorer.score_pairs(block.prefixes, block.queries, label_spans)[np.newaxis]
    scores: LabelLogProbs = np.empty((*block.shape, len(label_spans)), np.float32)
    for place, (prefix, query) in enumerate(zip(block.prefixes, block.queries, strict=True)):
        scores[0, place] = scorer.score([prefix], [query], label_spans)[0, 0]
    return scores


def score_pairs(
    scorer: LabelScorer, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
) -> LabelLogProbs:
    """As `PairScorer.score_pairs`, by any scorer  # [pairs, L]."""
    block = Block(tuple(prefixes), tuple(queries), is_paired=True)
    (scores,) = score_blocks(scorer, [block], label_spans)
    label_log_probs: LabelLogProbs = scores[0]
    return label_log_probs
