"""Right-padded rows, and the two executors that feed them: plain and cached.

A row ends with a query and one chain of the label trie. A trie that branches needs a row for each chain;
a node in several chains is read from the first chain.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lens_engine.model.labels import ROOT, LabelTrie
from lens_engine.model.local.executors.base import (
    ExecutorName,
    StateTap,
    TokenCounters,
    TokenRanges,
    Workload,
    read_log_probs,
    sum_label_words,
)
from lens_engine.model.local.executors.packing import order_by_length
from lens_engine.model.local.executors.transfer import IntArray, upload
from lens_engine.model.tokenization import Tokens
from lens_engine.types import LabelLogProbs, States

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


class PlainExecutor:
    """Runs batches of whole prompts, with logits at the label positions only. The others are checked against it."""

    name: ClassVar[ExecutorName] = "plain"

    def __init__(self, model: Any, counters: TokenCounters) -> None:
        self._model = model
        self._counters = counters

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        reads = work.new_reads()
        with float32_logits(self._model):
            for rows in batch_rows(_whole_prompts(work), budget):
                self._run_batch(rows, reads)
        return sum_label_words(reads, work.trie)

    def run_states(self, work: Workload, budget: int, tap: StateTap, layers: Sequence[int]) -> States:
        states = tap.new_states(len(work.queries), layers)
        for rows in batch_rows(_whole_prompts(work), budget):
            read = StateReads.of(tap, layers, work, rows)
            ids, mask = pad_rows(rows, tap.device)
            self._counters.count_forward(ids)
            by_pair(states)[read.places] = read.run(input_ids=ids, attention_mask=mask, use_cache=False).cpu().numpy()
        return states

    def release(self) -> bool:
        return False

    def _run_batch(self, rows: list[Row], reads: NDArray[np.float32]) -> None:
        device = next(self._model.parameters()).device
        ids, mask = pad_rows(rows, device)
        labels = LabelReads.of(rows, device)
        values = labels.run(self._model, input_ids=ids, attention_mask=mask, use_cache=False)
        self._counters.count_forward(ids)
        reads[labels.places] = values.cpu().numpy()


def _whole_prompts(work: Workload) -> list[Row]:
    return [
        Row((p, q), prefix + query + chain.tokens, len(prefix) + len(query) - 1, chain)
        for p, prefix in enumerate(work.prefixes)
        for q, query in enumerate(work.queries)
        for chain in chains_of(work.trie)
    ]


class CachedExecutor:
    """Feeds each prefix once, then batches of padded suffixes that reuse its keys and values.

    It is right for every architecture whose cache can be copied along the batch (sliding windows, ALiBi and
    GPT-Neo included), because the model computes all attention itself. Prefixes of equal length share a batch.
    The cost is padding, and copies of the prefix's keys and values.
    """

    name: ClassVar[ExecutorName] = "cached"

    def __init__(self, model: Any, counters: TokenCounters) -> None:
        self._model = model
        self._counters = counters
        self._device = next(model.parameters()).device

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        reads = work.new_reads()
        suffixes = _suffixes_of(work)
        with float32_logits(self._model):
            for length, prefixes in _group_by_length(work.prefix_lengths).items():
                # Each row copies the prefix's keys and values; the copy counts a quarter of the prefix's tokens.
                batches = list(batch_rows(suffixes, budget, cached_tokens=length // 4))
                side_by_side = _count_side_by_side(batches, length, budget)
                for start in range(0, len(prefixes), side_by_side):
                    self._run_prefixes(work, prefixes[start : start + side_by_side], batches, reads)
        return sum_label_words(reads, work.trie)

    def run_states(self, work: Workload, budget: int, tap: StateTap, layers: Sequence[int]) -> States:
        states = tap.new_states(len(work.queries), layers)
        ids = torch.tensor([work.prefixes[0]], dtype=torch.long, device=self._device)
        cache = self._cache_prefixes(ids) if ids.numel() else None
        for batch in batch_rows(_suffixes_of(work), budget, cached_tokens=ids.shape[1] // 4):
            rows = [replace(row, pair=(0, row.pair[1])) for row in batch]
            read = StateReads.of(tap, layers, work, rows)
            inputs = self._make_inputs(rows, cache, num_cached=ids.shape[1], repeats=len(rows))
            by_pair(states)[read.places] = read.run(**inputs).cpu().numpy()
        return states

    def release(self) -> bool:
        return False

    def _run_prefixes(
        self, work: Workload, prefixes: Sequence[int], batches: Sequence[Sequence[Row]], reads: NDArray[np.float32]
    ) -> None:
        """Run prefixes of equal length, each with all suffixes."""
        ids = torch.tensor([work.prefixes[p] for p in prefixes], dtype=torch.long, device=self._device)
        cache = self._cache_prefixes(ids) if ids.numel() else None
        for batch in batches:
            rows = [replace(row, pair=(p, row.pair[1])) for p in prefixes for row in batch]
            labels = LabelReads.of(rows, self._device)
            values = labels.run(
                self._model, **self._make_inputs(rows, cache, num_cached=ids.shape[1], repeats=len(batch))
            )
            reads[labels.places] = values.cpu().numpy()

    def _cache_prefixes(self, ids: Tensor) -> Any:
        nothing = torch.empty(0, dtype=torch.long, device=self._device)  # no logits: only keys and values are needed
        outputs = self._model(input_ids=ids, use_cache=True, logits_to_keep=nothing)
        self._counters.count_forward(ids)
        return outputs.past_key_values

    def _make_inputs(self, rows: Sequence[Row], cache: Any, *, num_cached: int, repeats: int) -> dict[str, Any]:
        """The arguments of the model for these rows, after the cached prefixes."""
        ids, mask = pad_rows(rows, self._device)
        self._counters.count_forward(ids)
        inputs: dict[str, Any] = {"use_cache": False}
        if cache is not None:
            repeated = copy.deepcopy(cache)  # the model appends the suffixes to the cache that it is given
            repeated.batch_repeat_interleave(repeats)
            inputs = {"past_key_values": repeated, "use_cache": True}
            mask = torch.cat([mask.new_ones(len(rows), num_cached), mask], dim=1)
        return {"input_ids": ids, "attention_mask": mask, **inputs}


def _suffixes_of(work: Workload) -> list[Row]:
    """Each query with each chain of the label trie; the prefix index is filled in later."""
    chains = chains_of(work.trie)
    return [
        Row((-1, q), query + chain.tokens, len(query) - 1, chain)
        for q, query in enumerate(work.queries)
        for chain in chains
    ]


def _group_by_length(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Indices by length: prefixes of equal length need no padding."""
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    return groups


def _count_side_by_side(batches: Sequence[Sequence[Row]], length: int, budget: int) -> int:
    """Number of prefixes whose batches of suffixes fit into one forward together; at least one."""
    fed = max(len(batch) * (max(len(row.tokens) for row in batch) + length // 4) for batch in batches)
    return max(1, budget // max(fed, length, 1))
