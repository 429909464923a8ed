"""The contract of an executor, and the reading of log-probabilities from logits."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lens_engine.model.labels import LabelTrie
from lens_engine.model.limits import look_up
from lens_engine.model.local.executors.packing import ideal_tokens
from lens_engine.model.local.executors.transfer import IntArray, join_ranges, upload
from lens_engine.model.tokenization import Tokens
from lens_engine.types import POOLINGS, LabelLogProbs, States


class _Enough(Exception):
    """Ends a forward whose later layers nobody reads."""


@dataclass(frozen=True, slots=True)
class TokenRanges:
    """Ranges of neighbouring tokens in a forward, on the device; no range is empty."""

    tokens: Tensor  #: indices of the tokens of all ranges, one range after another
    last: Tensor  #: index of each range's last token
    lengths: Tensor

    @classmethod
    def of(cls, starts: IntArray, lengths: IntArray, device: torch.device) -> "TokenRanges":
        return cls(*upload([join_ranges(starts, lengths), starts + lengths - 1, lengths], device))

    def pool(self, hidden: Tensor) -> Tensor:
        """`[ranges, poolings, size]` float32, of `hidden  # [tokens, size]`."""
        last = hidden[self.last].float()
        if not len(last):
            return last.unsqueeze(1).expand(-1, len(POOLINGS), -1)
        mean = torch.segment_reduce(hidden[self.tokens].float(), "mean", lengths=self.lengths, unsafe=True)
        return torch.stack([last, mean], dim=1)


class StateTap:
    """Reads the outputs of a model's decoder layers, and lets a call be stopped between two layers."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._layers = _find_decoder_layers(model)
        for layer in self._layers:
            layer.register_forward_pre_hook(look_up)

    @property
    def num_layers(self) -> int:
        return len(self._layers)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self._model.parameters()).device
        return device

    @property
    def weight_bytes(self) -> int:
        return sum(weights.nbytes for weights in self._model.parameters())

    def run(self, layers: Sequence[int], ranges: TokenRanges, **inputs: Any) -> Tensor:
        """Run the model on `inputs` up to the highest layer  # [ranges, layers, poolings, size]."""
        pooled: dict[int, Tensor] = {}

        def read(number: int, _layer: nn.Module, _arguments: Any, output: Any) -> None:
            hidden: Tensor = output if isinstance(output, Tensor) else output[0]  # [rows, positions, size]
            pooled[number] = ranges.pool(hidden.flatten(0, 1))
            if number == max(layers):
                raise _Enough

        with ExitStack() as hooks, suppress(_Enough):
            for number in set(layers):
                hooks.enter_context(self._layers[number - 1].register_forward_hook(partial(read, number)))
            self._model(**inputs)
        return torch.stack([pooled[number] for number in layers], dim=1)

    def new_states(self, num_queries: int, layers: Sequence[int]) -> States:
        """Zeros for the states of each query."""
        size = self._model.config.get_text_config().hidden_size
        return np.zeros((len(layers), len(POOLINGS), num_queries, size), np.float32)


def _find_decoder_layers(model: Any) -> Sequence[nn.Module]:
    """The decoder layers in their order: the first list of as many modules as the config has layers; () if none is."""
    wanted = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == wanted]
    return list(lists[0]) if lists else ()


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
