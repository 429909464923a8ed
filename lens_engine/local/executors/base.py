"""The contract of an executor, and the reading of log-probabilities from logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.local.executors.packing import ideal_tokens
from lens_engine.local.executors.states import StateTap
from lens_engine.scoring.labels import LabelTrie
from lens_engine.scoring.tokenization import Tokens
from lens_engine.types import LabelLogProbs, States

_NORMALISED_ROWS = 1024
"""Rows of logits normalised at a time: 0.6 GB in float32 with 150,000 tokens in the vocabulary."""

ExecutorName = Literal["packed", "cached", "plain"]


@dataclass(frozen=True, slots=True)
class Workload:
    """The input of an executor: every prefix with every query, then the label words."""

    prefixes: tuple[Tokens, ...]  #: with leading special tokens; a prefix may be ()
    queries: tuple[Tokens, ...]  #: none is empty
    trie: LabelTrie

    @property
    def prefix_lengths(self) -> list[int]:
        return [len(prefix) for prefix in self.prefixes]

    @property
    def query_lengths(self) -> list[int]:
        return [len(query) for query in self.queries]

    @property
    def longest_prompt(self) -> int:
        """Length of the longest prompt that is fed (tokens). The last token of a label word is read, and not fed."""
        return max(self.prefix_lengths, default=0) + max(self.query_lengths, default=0) + max(self.trie.depths)

    @property
    def ideal_tokens(self) -> int:
        return ideal_tokens(self.prefix_lengths, self.query_lengths, tail=self.trie.num_fed)

    def new_reads(self) -> NDArray[np.float32]:
        """Zeros, one for each read of the trie  # [prefixes, queries, reads]."""
        return np.zeros((len(self.prefixes), len(self.queries), len(self.trie.flat_reads)), np.float32)


@dataclass(slots=True)
class TokenCounters:
    """Counts of tokens fed, and the least number of tokens that any executor could have fed."""

    num_forwards: int = 0
    num_pairs: int = 0  #: pairs (one prefix and one query) scored
    fed_tokens: int = 0  #: with padding
    ideal_tokens: int = 0

    def count_forward(self, input_ids: Tensor) -> None:
        self.num_forwards += 1
        self.fed_tokens += input_ids.numel()


class Executor(Protocol):
    """Runs a workload. Equal workloads and budgets give equal bits."""

    name: ClassVar[ExecutorName]

    def __init__(self, model: Any, counters: TokenCounters) -> None: ...

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        """`label_log_probs  # [prefixes, queries, labels]`; a forward feeds at most about `budget` tokens."""
        ...

    def run_states(self, work: Workload, budget: int, tap: StateTap, layers: Sequence[int]) -> States:
        """Hidden states of the queries after the only prefix of `work`  # [layers, poolings, queries, size]."""
        ...

    def release(self) -> bool:
        """Free the memory held between calls. Later scores are the same, but prefixes have to be fed again.

        Returns whether any memory was held.
        """
        ...


def read_log_probs(logits: Tensor, reads: Tensor) -> Tensor:
    """log softmax(logits)[row, token] of each read, in float32 over the whole vocabulary, on the device  # [reads].

    Rows are normalised in blocks, because the sum over the vocabulary needs a copy of its rows.

    Args:
        logits: `[positions, vocabulary]`.
        reads: `[2, reads]`, row and token of each read.
    """
    blocks = [torch.logsumexp(block.float(), dim=-1) for block in torch.split(logits, _NORMALISED_ROWS)]
    normalisers = torch.cat(blocks)  # [positions]
    rows, tokens = reads
    return logits[rows, tokens].float() - normalisers[rows]


def sum_label_words(reads: NDArray[np.float32], trie: LabelTrie) -> LabelLogProbs:
    """Sum the reads of each label word  # [prefixes, queries, labels]."""
    starts = np.cumsum([0] + [len(path) for path in trie.reads[:-1]])
    sums: LabelLogProbs = np.add.reduceat(reads.astype(np.float64), starts, axis=-1).astype(np.float32)
    return sums
