"""Each prefix once, its keys and values lent to batches of padded suffixes.

Right on every architecture whose cache can be copied along the batch (sliding windows, ALiBi and
GPT-Neo included), since the model itself does all the attention. It pays for padding and for the
copies of the prefix's keys and values.
"""

import copy
from typing import Any, ClassVar

import torch
from torch import Tensor

from lens_engine.scoring.executors.base import ExecutorName, TokenCounters, Workload, sum_label_words
from lens_engine.scoring.executors.rows import Row, batch_rows, chains_of, pad_rows, positions_to_keep, read_rows
from lens_engine.types import LabelLogProbs


class CachedExecutor:
    """A key-value cache for each prefix, repeated over right-padded suffixes."""

    name: ClassVar[ExecutorName] = "cached"

    def __init__(self, model: Any, counters: TokenCounters) -> None:
        self._model = model
        self._counters = counters
        self._device = next(model.parameters()).device

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        reads = work.new_reads()
        chains = chains_of(work.trie)
        for p, prefix in enumerate(work.prefixes):
            cache = self._cache_prefix(torch.tensor([prefix], device=self._device)) if prefix else None
            suffixes = [
                Row((p, q), query + chain.tokens, len(query) - 1, chain)
                for q, query in enumerate(work.queries)
                for chain in chains
            ]
            # Rows lend keys and values of the prefix: a row's share of the budget is a quarter of it.
            for rows in batch_rows(suffixes, budget, cached_tokens=len(prefix) // 4):
                ids, mask = pad_rows(rows, self._device)
                kept = positions_to_keep(rows)
                logits = self._run_suffixes(ids, mask, torch.from_numpy(kept).to(self._device), cache, len(prefix))
                read_rows(logits, rows, kept, reads)
        return sum_label_words(reads, work.trie)

    def _cache_prefix(self, ids: Tensor) -> Any:
        last = torch.tensor([ids.shape[1] - 1], device=self._device)
        outputs = self._model(input_ids=ids, use_cache=True, logits_to_keep=last)
        self._counters.count_forward(ids)
        return outputs.past_key_values

    def _run_suffixes(self, ids: Tensor, mask: Tensor, keep: Tensor, cache: Any, num_cached: int) -> Tensor:
        inputs: dict[str, Any] = {"use_cache": False}
        if cache is not None:
            repeated = copy.deepcopy(cache)  # the model writes the suffixes into the cache it is given
            repeated.batch_repeat_interleave(ids.shape[0])
            inputs = {"past_key_values": repeated, "use_cache": True}
            mask = torch.cat([mask.new_ones(ids.shape[0], num_cached), mask], dim=1)
        outputs = self._model(input_ids=ids, attention_mask=mask, logits_to_keep=keep, **inputs)
        self._counters.count_forward(ids)
        logits: Tensor = outputs.logits
        return logits
