"""The plain executor: every prompt is a whole row; nothing is shared. The other executors are checked against it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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


class PlainExecutor:
    """Runs right-padded batches of whole prompts, with logits at the label positions only."""

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
