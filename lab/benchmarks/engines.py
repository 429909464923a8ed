"""Engines: ways to score every prefix with every query, from token ids and with the same weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch.nn import functional

from lab.benchmarks.models import LoadedModel
from lab.benchmarks.workloads import Work
from lens_engine.local.executors import ExecutorName, Workload
from lens_engine.local.load import scorer_from_model
from lens_engine.local.scorer import CausalLMScorer
from lens_engine.scoring.labels import build_label_trie
from lens_engine.scoring.tokenization import Tokens
from lens_engine.types import LabelLogProbs

EXECUTORS: tuple[ExecutorName, ...] = ("packed", "cached", "plain")
"""Our executors, from fast to slow."""

Run = Callable[[], LabelLogProbs]
"""Scores a workload: `label_log_probs  # [prefixes, queries, labels]`. Only this is timed."""


class Engine(Protocol):
    """One way to score, over one loaded model."""

    @property
    def name(self) -> str: ...

    @property
    def loaded(self) -> LoadedModel: ...

    @property
    def shares_prefixes(self) -> bool:
        """Whether a prefix is computed once for its queries. If not, any part of the pairs is a fair sample."""
        ...

    @property
    def smallest_sample(self) -> int:
        """Minimum number of pairs for a fair measurement: about the pairs of one forward."""
        ...

    @property
    def note(self) -> str:
        """Settings of the engine, for the reader of a table."""
        ...

    def prepare(self, work: Work) -> Run:
        """Prepare a run, tokenisation included. The preparation is timed for no engine."""
        ...


@dataclass(frozen=True, slots=True)
class EncodedWork:
    """A workload as token ids."""

    workload: Workload
    spans: tuple[Tokens, ...]  #: of each label word

    @property
    def label_positions(self) -> int:
        """Positions whose logits are needed: the query's last token, and those of label words that go on."""
        return len(self.workload.prefixes) * len(self.workload.queries) * len(self.workload.trie.tokens)


def encode(work: Work, loaded: LoadedModel) -> EncodedWork:
    """The same token ids as in `CausalLMScorer`. Every prefix must have a demonstration."""
    spans = loaded.segments.encode_spans(work.label_spans)
    workload = Workload(
        prefixes=tuple(loaded.segments.encode_prefixes(work.prefixes)),
        queries=tuple(loaded.segments.encode_queries(work.queries, is_first=False)),
        trie=build_label_trie(work.label_spans, spans),
    )
    return EncodedWork(workload, tuple(spans))


@dataclass(frozen=True)
class LensEngine:
    """`CausalLMScorer` with one executor. Plain is the usual way: whole prompts, sorted by length, right-padded, and
    logits at the label positions only."""

    loaded: LoadedModel
    scorer: CausalLMScorer

    @classmethod
    def over(cls, loaded: LoadedModel, executor: ExecutorName) -> "LensEngine":
        """
        Raises:
            ModelError: this executor is wrong for the model.
        """
        return cls(loaded, scorer_from_model(loaded.model, loaded.tokenizer, executor=executor))

    @property
    def name(self) -> str:
        return self.scorer.identity.executor

    @property
    def shares_prefixes(self) -> bool:
        return self.name != "plain"

    @property
    def smallest_sample(self) -> int:
        return 56 if self.shares_prefixes else 8

    @property
    def note(self) -> str:
        return f"{self.scorer.token_budget} tokens a forward"

    def prepare(self, work: Work) -> Run:
        """The scorer remembers token ids, so only the run before the timed ones tokenises."""

        def run() -> LabelLogProbs:
            label_log_probs = self.scorer.score(work.prefixes, work.queries, work.label_spans)
            self.scorer.release()  # every run feeds every prefix
            return label_log_probs

        return run


_ROWS_PER_BATCH = 16
_SHORT, _LONG = 256, 512
_LONG_QUERY = 45
"""Rows are long if a query has at least this mean number of tokens. The authors choose by task."""


@dataclass(frozen=True)
class AuthorsEngine:
    """The scheme of the paper's authors, rewritten from its description, so that its speed can be compared.

    One row for each prefix, query and label word, padded or cut to a fixed length; logits over the whole vocabulary at
    every position; cross-entropy at every position, of which the label's is kept; one number read from the device for
    each row.
    """

    loaded: LoadedModel
    name: str = "authors"
    shares_prefixes: bool = False
    smallest_sample: int = 1  # its rows take equally long, however few
    note: str = f"batches of {_ROWS_PER_BATCH} rows"

    def prepare(self, work: Work) -> Run:
        encoded = encode(work, self.loaded)
        return lambda: self._score(encoded)

    @torch.no_grad()
    def _score(self, encoded: EncodedWork) -> LabelLogProbs:
        shape = (len(encoded.workload.prefixes), len(encoded.workload.queries), len(encoded.spans))
        rows = list(np.ndindex(shape))
        scores: LabelLogProbs = np.zeros(shape, np.float32)
        for start in range(0, len(rows), _ROWS_PER_BATCH):
            batch = rows[start : start + _ROWS_PER_BATCH]
            for row, loss in zip(batch, self._losses(batch, encoded), strict=True):
                scores[row] = -loss.item()
        return scores

    def _losses(self, rows: list[tuple[int, ...]], encoded: EncodedWork) -> torch.Tensor:
        """Summed cross-entropy of each row's label word  # [rows]"""
        ids, mask, is_label = (part.to(self.loaded.device) for part in _pad(rows, encoded))
        logits = self.loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1]
        losses = functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="none")
        return (losses.view(len(ids), -1) * is_label[:, 1:]).sum(dim=1)


def row_length(encoded: EncodedWork) -> int:
    """Tokens of every row. They depend on the lengths of the queries, not on the number of demonstrations."""
    return _SHORT if np.mean(encoded.workload.query_lengths) < _LONG_QUERY else _LONG


def share_cut(encoded: EncodedWork) -> float:
    """Share of the prompts that lose their first tokens to the fixed length."""
    length = row_length(encoded) - encoded.workload.trie.longest_span
    totals = np.add.outer(encoded.workload.prefix_lengths, encoded.workload.query_lengths)  # [prefixes, queries]
    return float((totals > length).mean())


def _pad(rows: list[tuple[int, ...]], encoded: EncodedWork) -> tuple[torch.Tensor, ...]:
    """Token ids, the mask of tokens, and the mask of label tokens  # each [rows, length]"""
    ids = np.zeros((len(rows), row_length(encoded)), np.int64)
    attention, label = np.zeros_like(ids), np.zeros_like(ids)
    for index, (prefix, query, span) in enumerate(rows):
        label_tokens = encoded.spans[span]
        whole = (*encoded.workload.prefixes[prefix], *encoded.workload.queries[query], *label_tokens)
        tokens = whole[-ids.shape[1] :]
        ids[index, : len(tokens)] = tokens
        attention[index, : len(tokens)] = 1
        label[index, len(tokens) - len(label_tokens) : len(tokens)] = 1
    return tuple(map(torch.from_numpy, (ids, attention, label)))
