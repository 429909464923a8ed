"""The scheme of the paper's authors, rewritten from its description, so that its speed can be compared.

One row for each prefix, query and label word, padded or cut to a fixed length; logits over the whole
vocabulary at every position; cross-entropy at every position, of which the label's is kept; one number
read from the device for each row.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lab.benchmarks.engines.base import EncodedWork, Run, encode
from lab.benchmarks.workloads.models import LoadedModel
from lab.benchmarks.workloads.work import Work
from lens_engine.types import LabelLogProbs

ROWS_PER_BATCH = 16
_SHORT, _LONG = 256, 512
_LONG_QUERY = 45
"""Rows are long if a query has at least this mean number of tokens. The authors choose by task."""


@dataclass(frozen=True)
class AuthorsEngine:
    """Fixed-length rows, one for each label word."""

    loaded: LoadedModel
    name: str = "authors"
    shares_prefixes: bool = False
    smallest_sample: int = 1  # its rows take equally long, however few
    note: str = f"batches of {ROWS_PER_BATCH} rows"

    def prepare(self, work: Work) -> Run:
        encoded = encode(work, self.loaded)
        return lambda: self._score(encoded)

    @torch.no_grad()
    def _score(self, encoded: EncodedWork) -> LabelLogProbs:
        workload = encoded.workload
        shape = (len(workload.prefixes), len(workload.queries), len(encoded.spans))
        rows = list(np.ndindex(shape))
        length = row_length(encoded)
        scores: LabelLogProbs = np.zeros(shape, np.float32)
        for batch in _batches(rows):
            losses = self._losses(*_pad_to(length, batch, encoded, self.loaded.device))
            for row, loss in zip(batch, losses, strict=True):
                scores[row] = -loss.item()
        return scores

    def _losses(self, ids: Tensor, attention_mask: Tensor, label_mask: Tensor) -> Tensor:
        """Summed cross-entropy of each row's label word  # [rows]"""
        logits = self.loaded.model(input_ids=ids, attention_mask=attention_mask, use_cache=False).logits[:, :-1]
        losses = functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="none")
        return (losses.view(len(ids), -1) * label_mask[:, 1:]).sum(dim=1)


def row_length(encoded: EncodedWork) -> int:
    """Tokens of every row. They depend on the lengths of the queries, not on the number of demonstrations."""
    return _SHORT if np.mean(encoded.workload.query_lengths) < _LONG_QUERY else _LONG


def share_cut(encoded: EncodedWork) -> float:
    """Share of the prompts that lose their first tokens to the fixed length."""
    length = row_length(encoded) - encoded.workload.trie.longest_span
    totals = np.add.outer(encoded.workload.prefix_lengths, encoded.workload.query_lengths)  # [prefixes, queries]
    return float((totals > length).mean())


def _batches(rows: list[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    for start in range(0, len(rows), ROWS_PER_BATCH):
        yield rows[start : start + ROWS_PER_BATCH]


def _pad_to(
    length: int, rows: list[tuple[int, ...]], encoded: EncodedWork, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, the mask of tokens, and the mask of label tokens  # each [rows, length]"""
    ids = np.zeros((len(rows), length), np.int64)
    attention, label = np.zeros_like(ids), np.zeros_like(ids)
    for index, (prefix, query, span) in enumerate(rows):
        label_tokens = encoded.spans[span]
        tokens = (*encoded.workload.prefixes[prefix], *encoded.workload.queries[query], *label_tokens)[-length:]
        ids[index, : len(tokens)] = tokens
        attention[index, : len(tokens)] = 1
        label[index, len(tokens) - len(label_tokens) : len(tokens)] = 1
    return torch.from_numpy(ids).to(device), torch.from_numpy(attention).to(device), torch.from_numpy(label).to(device)
