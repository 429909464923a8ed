"""HFLM of lm-evaluation-harness, with token ids and the model of the other engines. An optional extra."""

import importlib.util
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.benchmarks.engines.base import EncodedWork, Run, encode
from lab.benchmarks.workloads.models import LoadedModel
from lab.benchmarks.workloads.work import Work, part_of_pairs
from lens_engine.types import LabelLogProbs

SMALLEST_BATCH, LARGEST_BATCH = 4, 512
_FEWEST_ROWS = 16
"""Minimum number of rows that a batch size is tried on."""
_LOGIT_BYTES = {"cpu": 3 << 30, "cuda": 12 << 30}
"""Maximum size of the logits of a batch (bytes). HFLM holds them twice, as logits and as log-probabilities."""


def is_installed() -> bool:
    return importlib.util.find_spec("lm_eval") is not None


@dataclass(frozen=True)
class HarnessEngine:
    """HFLM with one batch size. It sorts by length. Label words that differ only in their last token share a row."""

    loaded: LoadedModel
    batch_size: int
    rows_per_pair: int = 1
    name: str = "harness"
    shares_prefixes: bool = False

    @property
    def smallest_sample(self) -> int:
        return -(-self.batch_size // self.rows_per_pair)

    @property
    def note(self) -> str:
        return f"batch size {self.batch_size}"

    def prepare(self, work: Work) -> Run:
        encoded = encode(work, self.loaded)
        requests = _requests(encoded)
        model = _hflm(self.loaded, self.batch_size)
        shape = (len(work.prefixes), len(work.queries), len(work.label_spans))
        return lambda: _score(model, requests, shape)


def tune(
    loaded: LoadedModel,
    work: Work,
    largest: int = LARGEST_BATCH,
    clock: Callable[[], float] = time.perf_counter,
) -> HarnessEngine:
    """The engine at its fastest batch size for `work`: doubled until two in a row are slower than the best."""
    rows_per_pair = count_rows_per_pair(encode(work, loaded))
    rates: dict[int, float] = {}
    for size in _batch_sizes(loaded, work, largest):
        part = part_of_pairs(work, -(-max(size, _FEWEST_ROWS) // rows_per_pair), whole_prefixes=False)
        run = HarnessEngine(loaded, size).prepare(part)
        start = clock()
        run()
        rates[size] = part.num_pairs / (clock() - start)
        if is_past_best(list(rates.values())):
            break
    return HarnessEngine(loaded, max(rates, key=lambda size: rates[size]), rows_per_pair)


def count_rows_per_pair(encoded: EncodedWork) -> int:
    """Label words that differ in nothing but their last token share a row."""
    return len({span[:-1] for span in encoded.spans})


def is_past_best(rates: list[float]) -> bool:
    """Whether the last two rates are both below an earlier one."""
    return len(rates) > 2 and max(rates[-2:]) < max(rates[:-2])


def _batch_sizes(loaded: LoadedModel, work: Work, largest: int) -> Iterator[int]:
    encoded = encode(work, loaded).workload
    longest = max(encoded.prefix_lengths) + max(encoded.query_lengths) + encoded.trie.longest_span
    vocabulary = loaded.model.config.vocab_size
    width = next(loaded.model.parameters()).element_size()
    limit = _LOGIT_BYTES.get(loaded.device.type, _LOGIT_BYTES["cpu"]) // (longest * vocabulary * width)
    size = SMALLEST_BATCH
    while size <= max(min(largest, limit, work.num_pairs), SMALLEST_BATCH):
        yield size
        size *= 2


def _requests(encoded: EncodedWork) -> list[tuple[tuple[str, str], list[int], list[int]]]:
    """A request for each pair and label word: identifier, context tokens, continuation tokens."""
    workload = encoded.workload
    return [
        ((f"{p} {q}", str(label)), [*prefix, *query], list(span))
        for p, prefix in enumerate(workload.prefixes)
        for q, query in enumerate(workload.queries)
        for label, span in enumerate(encoded.spans)
    ]


def _score(model: Any, requests: list[Any], shape: tuple[int, int, int]) -> LabelLogProbs:
    answers = model._loglikelihood_tokens(requests, disable_tqdm=True)
    scores: LabelLogProbs = np.array([log_prob for log_prob, _ in answers], np.float32).reshape(shape)
    return scores


def _hflm(loaded: LoadedModel, batch_size: int) -> Any:
    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # it warns that the model is loaded already
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=batch_size, max_length=loaded.context)
