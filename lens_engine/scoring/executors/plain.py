"""The plain executor: every prompt is a whole row; nothing is shared. The other executors are checked against it."""

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from lens_engine.scoring.executors.base import ExecutorName, TokenCounters, Workload, sum_label_words
from lens_engine.scoring.executors.head import float32_logits
from lens_engine.scoring.executors.rows import Row, batch_rows, chains_of, pad_rows, positions_to_keep, read_rows
from lens_engine.types import LabelLogProbs


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

    def release(self) -> bool:
        return False

    def _run_batch(self, rows: list[Row], reads: NDArray[np.float32]) -> None:
        device = next(self._model.parameters()).device
        ids, mask = pad_rows(rows, device)
        kept = positions_to_keep(rows)
        keep = torch.from_numpy(kept).to(device)
        outputs = self._model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=keep)
        self._counters.count_forward(ids)
        read_rows(outputs.logits, rows, kept, reads)


def _whole_prompts(work: Workload) -> list[Row]:
    return [
        Row((p, q), prefix + query + chain.tokens, len(prefix) + len(query) - 1, chain)
        for p, prefix in enumerate(work.prefixes)
        for q, query in enumerate(work.queries)
        for chain in chains_of(work.trie)
    ]
