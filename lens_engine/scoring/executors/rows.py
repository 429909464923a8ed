"""Right-padded rows, which the plain and the cached executor share.

A row ends with a query and one chain of the label trie. A trie that branches needs a row for each chain;
a node in several chains is read from the first chain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.scoring.executors.base import read_log_probs
from lens_engine.scoring.executors.packing import order_by_length
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


def positions_to_keep(rows: Sequence[Row]) -> NDArray[np.int64]:
    """Positions at which any row is read, ascending; one list for all rows suits every release of transformers."""
    positions = {row.label_position + offset for row in rows for offset, _, _ in row.chain.reads}
    return np.array(sorted(positions), np.int64)


def read_rows(logits: Tensor, rows: Sequence[Row], kept: NDArray[np.int64], reads: NDArray[np.float32]) -> None:
    """Write the log-probabilities of the rows' label words to `reads`; logits `[rows, kept positions, vocabulary]`."""
    wanted = [
        (index, row.label_position + offset, token, *row.pair, read)
        for index, row in enumerate(rows)
        for offset, token, read in row.chain.reads
    ]
    row_index, position, token, prefix, query, read = np.array(wanted, np.int64).T
    flat = row_index * len(kept) + np.searchsorted(kept, position)
    index = torch.from_numpy(np.stack([flat, token])).to(logits.device)
    reads[prefix, query, read] = read_log_probs(logits.flatten(0, 1), index).cpu().numpy()
