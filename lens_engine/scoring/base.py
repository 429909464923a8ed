"""The one contract between the algorithms and a language model.

LENS needs one operation: for each prefix (zero or more demonstrations), each query and each label
word, compute log p(label word | prefix ⊕ query). Zero-shot scores, one-shot contributions (Eq. 3),
the judging of a permutation and contextual calibration are all calls of this operation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

from lens_engine.task.template import Task
from lens_engine.types import LabelLogProbs, States

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


@runtime_checkable
class StatesScorer(LabelScorer, Protocol):
    """A scorer that also shows the hidden states of its model."""

    @property
    def num_layers(self) -> int:
        """Number of decoder layers; 0 if the scorer cannot find them, and then it shows no states."""
        ...

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        """Hidden states of each query after one prefix.

        Args:
            prefix: computed once for all queries; () for none.
            queries: Q texts; none is empty.
            layers: numbers of decoder layers, from 1 (the output of the first) to `num_layers`; in any order. The model
                computes a query up to the highest.

        Returns:
            `states  # [layers, 2, Q, size]` float32, in the order of `layers` and `POOLINGS`: the state of the query's
            last token, and the mean over the query's tokens. States are outputs of decoder layers as they are: the
            final norm is not applied, not even to the last layer.

        Raises:
            PromptTooLong: a prefix with a query exceeds `max_prompt_tokens`.
            NonFiniteScore: the model returned NaN or an infinity.
            ValueError: there is no layer, or a layer is out of range.
        """
        ...


@runtime_checkable
class ChatScorer(LabelScorer, Protocol):
    """A scorer that also knows how its model writes a chat."""

    def render_chat(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The messages (`role` and `content`) as a prompt for the next answer, all special tokens between marks.

        Raises:
            InvalidConfig: the model has no chat template, or its template refuses the messages.
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
        yield scorer.score(block.prefixes, block.queries, label_spans)
