"""Right-padded rows, which the plain and the cached executor share.

A row ends with a query and one chain of the label trie. A trie that branches needs a row for each chain;
a node in several chains is read from the first chain.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lens_engine.model.labels import ROOT, LabelTrie
from lens_engine.model.local.executors.base import StateTap, TokenRanges, Workload, read_log_probs
from lens_engine.model.local.executors.packing import order_by_length
from lens_engine.model.local.executors.transfer import IntArray, upload
from lens_engine.model.tokenization import Tokens
from lens_engine.types import States

_MOST_PADDING = 1.75
"""Largest ratio of the longest to the shortest row of a batch. A smaller ratio means less padding but more forwards."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The label tokens of a row, and the reads at their positions."""

    tokens: Tokens
    reads: tuple[tuple[int, int, int], ...]  #: (offset from the query's last token, token, index of the read)


@dataclass(frozen=True, slots=True)
class Row:
    """The tokens of a prompt that the executor feeds."""

    pair: tuple[int, int]  #: (prefix, query)
    tokens: Tokens
    label_position: int  #: index of the query's last token in `tokens`
    chain: Chain


def chains_of(trie: LabelTrie) -> tuple[Chain, ...]:
    chains, seen = [], set[int]()
    for nodes in trie.chains():
        offsets = {node: offset for offset, node in enumerate((ROOT, *nodes)) if node not in seen}
        seen.update(offsets)
        reads = [(offsets[n], token, read) for read, (n, token) in enumerate(trie.flat_reads) if n in offsets]
        chains.append(Chain(tuple(trie.tokens[node] for node in nodes), tuple(reads)))
    return tuple(chains)


def batch_rows(rows: Sequence[Row], budget: int, *, cached_tokens: int = 0) -> Iterator[list[Row]]:
    """Batches of rows of similar length: the longest row is at most 1.75 times as long as the shortest.

    A batch with its padding has at most `budget` tokens, but at least one row. `cached_tokens` precede every row and
    count too, because they take memory.
    """
    batch: list[Row] = []
    for index in order_by_length([len(row.tokens) for row in rows]):
        row = rows[index]
        fits = (len(batch) + 1) * (len(row.tokens) + cached_tokens) <= budget
        if batch and not (fits and len(row.tokens) <= _MOST_PADDING * len(batch[0].tokens)):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def pad_rows(rows: Sequence[Row], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids and attention mask, both `[rows, longest]`; padding is on the right."""
    longest = max(len(row.tokens) for row in rows)
    ids = np.zeros((len(rows), longest), np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row.tokens)] = row.tokens
        mask[index, : len(row.tokens)] = 1
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


@dataclass(frozen=True, slots=True)
class LabelReads:
    """Where a batch of rows is read: only there are logits computed."""

    positions: Tensor  #: at which any row is read, ascending; one list for all rows suits every release of transformers
    chosen: Tensor  #: indices into rows * positions, of the hidden states that the head gets
    reads: Tensor  #: [2, reads], index into `chosen` and token of each read
    places: tuple[NDArray[np.int64], ...]  #: prefix, query and read of each, in the array that is filled

    @classmethod
    def of(cls, rows: Sequence[Row], device: torch.device) -> "LabelReads":
        wanted = [
            (index, row.label_position + offset, token, *row.pair, read)
            for index, row in enumerate(rows)
            for offset, token, read in row.chain.reads
        ]
        row_index, position, token, *places = np.array(wanted, np.int64).T
        positions = np.unique(position)
        chosen, among = np.unique(
            row_index * len(positions) + np.searchsorted(positions, position), return_inverse=True
        )
        at, where, reads = upload([positions, chosen, np.stack([among, token])], device)
        return cls(at, where, reads, tuple(places))

    def run(self, model: Any, **inputs: Any) -> Tensor:
        """Run the model on `inputs`; log-probabilities of the reads, on the device  # [reads].

        A row is read at few positions, but at other positions than the next row. So the head gets the hidden states of
        the chosen ones alone, and not those of all positions.
        """
        with _before_head(model, lambda hidden: hidden.flatten(0, 1)[self.chosen].unsqueeze(0)):
            logits: Tensor = model(logits_to_keep=self.positions, **inputs).logits.flatten(0, 1)
        if len(logits) != len(self.chosen):  # the head is no module
            logits = logits[self.chosen]
        return read_log_probs(logits, self.reads)


@contextmanager
def _before_head(model: Any, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """A context in which the model's head gets `change` of its hidden states `[rows, positions, size]`."""
    head = model.get_output_embeddings()
    if head is None:
        yield
        return
    hook = head.register_forward_pre_hook(lambda _, arguments: (change(arguments[0]), *arguments[1:]))
    try:
        yield
    finally:
        hook.remove()


def by_pair(states: States) -> NDArray[np.float32]:
    """A view of the states after one prefix, by pair  # [1, queries, layers, poolings, size]."""
    return states.transpose(2, 0, 1, 3)[np.newaxis]


@dataclass(frozen=True, slots=True)
class StateReads:
    """The states that are read off a batch of rows: those of each row's query."""

    tap: StateTap
    layers: Sequence[int]
    ranges: TokenRanges
    places: tuple[IntArray, ...]  #: prefix and query of each row

    @classmethod
    def of(cls, tap: StateTap, layers: Sequence[int], work: Workload, rows: Sequence[Row]) -> "StateReads":
        prefixes, queries = np.array([row.pair for row in rows], np.int64).T
        lengths = np.array([len(work.queries[query]) for query in queries], np.int64)
        longest = max(len(row.tokens) for row in rows)
        last = longest * np.arange(len(rows)) + np.array([row.label_position for row in rows], np.int64)
        return cls(tap, layers, TokenRanges.of(last + 1 - lengths, lengths, tap.device), (prefixes, queries))

    def run(self, **inputs: Any) -> Tensor:
        return self.tap.run(self.layers, self.ranges, **inputs)


_BLOCK_ROWS = 8192
"""Rows of the head converted at a time: some megabytes. A float32 copy of the whole head may take gigabytes."""


# In bfloat16, logits of about 30 have steps of 1/8, so different labels often get equal logits. The head runs
# only at label positions, so float32 products there cost little.
@contextmanager
def float32_logits(model: Any) -> Iterator[None]:
    """A context in which the model gives float32 logits. It has no effect on a float32 model or an unusual head."""
    head = model.get_output_embeddings()
    if not isinstance(head, nn.Linear) or head.weight.dtype == torch.float32 or "forward" in vars(head):
        yield
        return
    head.forward = partial(project, head)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del head.forward


def project(head: nn.Linear, hidden: Tensor) -> Tensor:
    """`logits  # [..., vocabulary]` float32 of `hidden  # [..., size]`."""
    flat = hidden.flatten(0, -2)
    if flat.is_cuda and flat.dtype == head.weight.dtype and len(flat) > 0:  # exact products, and many times as fast
        logits = torch.mm(flat, head.weight.T, out_dtype=torch.float32)
    else:
        logits = _multiply_in_blocks(flat.float(), head.weight)
    if head.bias is not None:
        logits += head.bias.float()
    return logits.view(*hidden.shape[:-1], head.out_features)


def _multiply_in_blocks(hidden: Tensor, weights: Tensor) -> Tensor:
    logits = hidden.new_empty(len(hidden), len(weights))
    for start in range(0, len(weights), _BLOCK_ROWS):
        end = start + _BLOCK_ROWS
        logits[:, start:end] = hidden @ weights[start:end].float().T
    return logits
