"""The one contract between the algorithms and a language model.

LENS needs one operation: for each prefix (zero or more demonstrations), each query and each label
word, compute log p(label word | prefix ⊕ query). Zero-shot scores, one-shot contributions (Eq. 3),
the judging of a permutation and contextual calibration are all calls of this operation. Where each
query has demonstrations of its own, query i is asked after prefix i alone (`score_pairs`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

from lens_engine.errors import InvalidConfig, ModelError
from lens_engine.model.labels import end_label_words
from lens_engine.model.spending import Bill, Spending
from lens_engine.prompt.chat import ChatTask
from lens_engine.prompt.template import EndedTask, Task
from lens_engine.types import LabelLogProbs, States

Prefix = tuple[str, ...]
"""Rendered demonstrations, each a segment that is tokenised alone; () is zero-shot."""


def find_shared(prefixes: Sequence[Prefix]) -> Prefix:
    """The segments with which all prefixes begin; none of a single one, which no other prompt of the call shares."""
    if len(prefixes) == 1:
        return ()
    shortest = min(prefixes, key=len)
    differ = (place for place in range(len(shortest)) if any(one[place] != shortest[place] for one in prefixes))
    return shortest[: next(differ, len(shortest))]


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


class LabelScorer(ABC):
    """Scores label words after prompts. An implementation is deterministic: equal calls give equal bits.

    It has `identity`, `max_prompt_tokens`, `count_tokens`, `encode_label_spans` and `score`. What it can do beside them
    has a default here.
    """

    max_prompt_tokens: int
    """Longest prompt with its label word (tokens): the model's context."""
    num_workers: int = 1
    """Number of blocks that are computed at a time; every worker gives equal bits for equal blocks."""
    num_layers: int = 0
    """Number of decoder layers; 0 if the scorer shows no hidden states."""
    takes_turns: bool = False
    """Whether its prompts are turns of a chat; then it scores tasks of `fit_task`, and no others."""
    gives_answers_only: bool = False
    """Whether its scores are one sampled answer each: which label is the likeliest, and no probabilities."""
    spending: Spending | None = None
    """Money of a scorer that asks a server; None for a model on this machine."""
    surroundings: tuple[str, ...] = ()
    """Versions and hardware that, with the identity, decide the bits, if it knows them."""
    pairs_found: int = 0
    """Number of pairs whose scores were on disk, since the scorer was made."""

    @property
    @abstractmethod
    def identity(self) -> ScorerIdentity: ...

    @property
    def fed_tokens(self) -> int:
        """Number of tokens that were computed so far; 0 of a scorer that does not count them."""
        return 0

    @property
    def computing(self) -> "LabelScorer":
        """The scorer that computes: itself, or the one within a scorer that keeps scores."""
        return self

    @abstractmethod
    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """Number of tokens of each segment, tokenised alone as in `score`, without special tokens."""

    @abstractmethod
    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        """Tokens of each label span after a query, as `score` reads them."""

    def fit_task(self, task: Task) -> Task:
        """The task as the model is asked: with what ends its label words, or as turns of a chat. Equal tasks give equal
        ones.

        Raises:
            InvalidConfig: the task is turns of a chat, and the scorer takes texts.
            InvalidVerbalizer: as `end_label_words`, or the model's answers do not tell the label words apart.
            EndpointError: the server refuses.
        """
        if isinstance(task, ChatTask):
            raise InvalidConfig(
                f"the task is turns of a chat, and {self.identity.model} is asked by one text; give the task without "
                "them",
                field="task.chat",
            )
        plain = task.without_end() if isinstance(task, EndedTask) else task  # another model may need another end
        return end_label_words(plain, self.encode_label_spans)

    @abstractmethod
    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        """Score every prefix with every query.

        Args:
            prefixes: P prefixes; each is computed once for all queries.
            queries: Q rendered inputs, each ending before the label word; none is empty.
            label_spans: L label words as they occur in the text, with the leading space. A span may have several
                tokens, and two spans may share first tokens; no two spans may have equal tokens. If all tokens of
                one begin another, the other is never the likelier: the spans of `fit_task` are not so.

        Returns:
            `label_log_probs  # [P, Q, L]` float32: natural log of the joint probability of the
            span's tokens.

        Raises:
            PromptTooLong: a prompt with its longest label span exceeds `max_prompt_tokens`.
            InvalidVerbalizer: two spans have equal tokens; the message names both.
            NonFiniteScore: the model returned NaN or an infinity.
        """

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        """Score each query after its own prefix; by default one after the other.

        Args:
            prefixes: as many as queries; query i follows prefix i.
            queries, label_spans: as `score`.

        Returns:
            `label_log_probs  # [pairs, L]` float32; those of `score` for each pair alone, up to rounding.

        Raises:
            ValueError: there are not as many prefixes as queries.
            LensError: as `score`.
        """
        pairs = zip(prefixes, queries, strict=True)
        scores = [self.score([prefix], [query], label_spans)[0, 0] for prefix, query in pairs]
        return np.array(scores, np.float32).reshape(len(scores), len(label_spans))

    def score_block(self, block: Block, label_spans: Sequence[str]) -> LabelLogProbs:
        """`label_log_probs  # [P, Q, L]` of a block, `[1, Q, L]` of a paired one."""
        if block.is_paired:
            return self.score_pairs(block.prefixes, block.queries, label_spans)[np.newaxis]
        return self.score(block.prefixes, block.queries, label_spans)

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """Score blocks; yields what `score_block` gives for each, in the order of the blocks.

        A scorer with workers takes a block from `blocks`, in the caller's thread, when a worker can soon start it.
        Every block taken is scored and yielded, even if `blocks` ends early.

        Raises:
            LensError: as `score`; raised in place of the failed block's scores.
        """
        return (self.score_block(block, label_spans) for block in blocks)

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:  # noqa: ARG002
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
            ModelError: the scorer shows none.
            PromptTooLong: a prefix with a query exceeds `max_prompt_tokens`.
            NonFiniteScore: the model returned NaN or an infinity.
            ValueError: there is no layer, or a layer is out of range.
        """
        raise ModelError("the scorer shows no hidden states")

    def bill(self, pairs: int, prompt_tokens: int, label_spans: Sequence[str], prefixes: int = 1) -> Bill:  # noqa: ARG002
        """What pairs will take at a server; nothing on this machine.

        Args:
            prompt_tokens: number of tokens of the prompts of all pairs, each prefix counted with each query.
            prefixes: number of prefixes of the pairs.

        Raises:
            InvalidVerbalizer: as `score`.
        """
        return Bill(0, 0, None)


class BlockScorer(LabelScorer):
    """A scorer whose one operation is `score_blocks`: it has several workers, or is over another scorer."""

    @abstractmethod
    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]: ...

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        return self.score_block(Block(tuple(prefixes), tuple(queries)), label_spans)

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        block = Block(tuple(prefixes), tuple(queries), is_paired=True)
        return np.asarray(self.score_block(block, label_spans)[0])

    def score_block(self, block: Block, label_spans: Sequence[str]) -> LabelLogProbs:
        (scores,) = self.score_blocks([block], label_spans)
        return scores


class OpenModel(Protocol):
    """A model that holds its scorer, as `open_model` returns it."""

    @property
    def scorer(self) -> LabelScorer: ...


def find_scorer(model: LabelScorer | OpenModel) -> LabelScorer:
    """The scorer of an open model; a scorer is its own. Raises TypeError if it is neither."""
    found = model if isinstance(model, LabelScorer) else getattr(model, "scorer", None)
    if not isinstance(found, LabelScorer):
        wanted = f"open_model({model!r})" if isinstance(model, str) else "the model that open_model returns"
        raise TypeError(f"the model is of type {type(model).__name__}; give {wanted}, or a LabelScorer")
    return found
