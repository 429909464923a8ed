"""The cached executor: feeds each prefix once, then batches of padded suffixes that reuse its keys and values.

It is right for every architecture whose cache can be copied along the batch (sliding windows, ALiBi and
GPT-Neo included), because the model computes all attention itself. Prefixes of equal length share a batch.
The cost is padding, and copies of the prefix's keys and values.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.model.local.executors.base import ExecutorName, StateTap, TokenCounters, Workload, sum_label_words
from lens_engine.model.local.executors.rows import (
    LabelReads,
    Row,
    StateReads,
    batch_rows,
    by_pair,
    chains_of,
    float32_logits,
    pad_rows,
)
from lens_engine.types import LabelLogProbs, States


class CachedExecutor:
    """Repeats a key-value cache of prefixes of equal length over right-padded suffixes."""

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
            values = self._run_rows(rows, labels, cache, num_cached=ids.shape[1], repeats=len(batch))
            reads[labels.places] = values.cpu().numpy()

    def _cache_prefixes(self, ids: Tensor) -> Any:
        nothing = torch.empty(0, dtype=torch.long, device=self._device)  # no logits: only keys and values are needed
        outputs = self._model(input_ids=ids, use_cache=True, logits_to_keep=nothing)
        self._counters.count_forward(ids)
        return outputs.past_key_values

    def _run_rows(
        self, rows: Sequence[Row], labels: LabelReads, cache: Any, *, num_cached: int, repeats: int
    ) -> Tensor:
        return labels.run(self._model, **self._make_inputs(rows, cache, num_cached=num_cached, repeats=repeats))

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
