"""What a kind of server has to answer.

The unit is a *read*: the log-probabilities of some words after one prompt. A prompt is a sequence of parts: token ids
for a server that takes them, or the rendered segments themselves for a chat. A label word of several tokens takes
several reads, whose values add up.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from lens_engine.errors import EndpointError, LensError
from lens_engine.model.base import Block, Prefix
from lens_engine.model.labels import build_label_trie
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.refusal import clean_words
from lens_engine.model.servers.transport import Transport
from lens_engine.model.tokenization import SegmentTokenizer
from lens_engine.types import FloatArray, LabelLogProbs

Part = int | str
"""A token id, or a segment of a chat."""

Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Reads that one request may ask for together: prompts with one prefix, and the same wanted words."""

    prefix: Parts
    endings: tuple[Parts, ...]
    wanted: Parts

    @property
    def prompts(self) -> list[Parts]:
        return [self.prefix + ending for ending in self.endings]


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The reads of a set of label words: `wanted[r]` is read after `suffixes[r]`, which follows the query.

    `paths[l]` are the pairs (read, column) whose log-probabilities sum to that of label word l.
    """

    suffixes: tuple[Parts, ...]
    wanted: tuple[Parts, ...]
    paths: tuple[tuple[tuple[int, int], ...], ...]

    def sum_paths(self, reads: Sequence[FloatArray]) -> LabelLogProbs:
        """The log-probabilities of the label words  # [..., labels], from the values of each read  # [..., wanted]."""
        columns = [sum(reads[read][..., column] for read, column in path) for path in self.paths]
        return np.stack(columns, axis=-1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself. `version`, `model` and `details` identify it."""

    version: str
    model: str
    context: int  #: longest prompt with its answer (tokens)
    details: Mapping[str, Any]
    number_format: str | None = None  #: of its weights; None if it does not say
    slots: int = 1  #: prefixes that it keeps at once, if it has to be told where
    note: str = ""  #: what it says beside, which changes while the model stays


class Server(ABC):
    """A kind of server. Its coroutines run on the thread of the transport."""

    prompts_per_request = 1
    takes_turns = False  #: as `LabelScorer.takes_turns`
    gives_answers_only = False  #: as `LabelScorer.gives_answers_only`
    least_check_nats = -np.inf  #: smallest value that the checks compare; lower ones count as this
    most_written = 1  #: largest number of tokens that one answer may have
    why_alike: str  #: why all known prompts may have the same scores, and what helps

    @classmethod
    @abstractmethod
    def meet(
        cls, endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None, cache_dir: Path | None, /
    ) -> Self:
        """Learn what a server says of itself.

        Args:
            tokenizer: that of its model; None to do without.
            cache_dir: as `cache_folder` takes it.
        """

    @property
    @abstractmethod
    def facts(self) -> ServerFacts: ...

    @property
    @abstractmethod
    def surroundings(self) -> tuple[str, ...]:
        """What decides the answers beside the server: the way of reading, the tokenizer."""

    @property
    @abstractmethod
    def check(self) -> tuple[Block, tuple[str, ...]]:
        """Prompts and label words for the checks at connection: one prefix, eight queries."""

    @abstractmethod
    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[Parts]:
        """Tokens of each label span, as `LabelScorer.encode_label_spans`."""

    @abstractmethod
    def plan(self, label_spans: Sequence[str]) -> ReadPlan:
        """The reads of these label words. Raises InvalidVerbalizer if the server cannot tell two of them apart."""

    @abstractmethod
    def encode(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> list[tuple[Parts, list[Parts]]]:
        """Each prefix with the queries after it, as parts.

        Raises:
            InvalidDataset: a query has no tokens.
        """

    @abstractmethod
    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """Number of tokens of each segment, tokenised alone."""

    @abstractmethod
    async def answer(self, batch: ReadBatch) -> FloatArray:
        """The log-probabilities `[prompts, wanted]` of a batch.

        Raises:
            EndpointError: the answer lacks a value, or has one that is no log-probability.
        """


NO_LOG_PROB = -9000.0
"""Some servers write -9999 for "none"."""

_ABOVE_ZERO = 1e-4
"""Rounding may lift the logarithm of a probability of one above 0."""


@contextmanager
def in_form_of(kind: str, where: str) -> Iterator[None]:
    """A context that reads what a server of this kind answered. `where`: the server, for errors."""
    try:
        yield
    except LensError:
        raise
    except Exception as error:  # also a number that is too large, and a structure that is too deep
        raise EndpointError(
            f"{where} answers in a form that {kind} does not have ({type(error).__name__}); is it another kind of "
            "server?",
            said=clean_words(str(error)),
        ) from error


def plan_reads(label_spans: Sequence[str], span_tokens: Sequence[tuple[int, ...]]) -> ReadPlan:
    trie = build_label_trie(label_spans, span_tokens)
    wanted: list[list[int]] = [[] for _ in trie.tokens]
    for node, token in dict.fromkeys(trie.flat_reads):
        wanted[node].append(token)
    return ReadPlan(
        suffixes=tuple(tuple(trie.tokens[step] for step in trie.path(node)) for node in range(len(trie.tokens))),
        wanted=tuple(map(tuple, wanted)),
        paths=tuple(tuple((node, wanted[node].index(token)) for node, token in path) for path in trie.reads),
    )


def pick_values(batch: ReadBatch, found: Sequence[Mapping[Part, float]], where: str) -> FloatArray:
    """The wanted values of each prompt  # [prompts, wanted].

    Args:
        found: of each prompt, the log-probability by wanted part.
        where: the server, for errors.
    """
    if len(found) != len(batch.endings):
        raise EndpointError(f"{where} answered {len(found)} of {len(batch.endings)} prompts of a request")
    for values in found:
        missing = [part for part in batch.wanted if part not in values]
        if missing:
            raise EndpointError(
                f"{where} gave no log-probability of {missing[0]!r}, which was asked for: it ignores the field, is "
                "too old, or another program answers at this address"
            )
    picked = np.array([[values[part] for part in batch.wanted] for values in found], dtype=np.float64)
    check_log_probs(picked, where)
    return picked


def check_log_probs(values: FloatArray, where: str) -> None:
    wrong = ~np.isfinite(values) | (values > _ABOVE_ZERO) | (values <= NO_LOG_PROB)
    if wrong.any():
        raise EndpointError(
            f"{where} gave {values[wrong][0]:g} as a log-probability (check: values): the model or its server gives "
            "none; take another model, or a server that gives log-probabilities"
        )
