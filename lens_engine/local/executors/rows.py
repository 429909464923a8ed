"""Right-padded rows, which the plain and the cached executor share.

A row ends with a query and one chain of the label trie. A trie that branches needs a row for each chain;
a node in several chains is read from the first chain.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.local.executors.base import read_log_probs
from lens_engine.local.executors.packing import order_by_length
from lens_engine.local.executors.transfer import upload
from lens_engine.scoring.labels import ROOT, LabelTrie
from lens_engine.scoring.tokenization import Tokens

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
