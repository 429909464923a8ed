"""HFLM of lm-evaluation-harness, with token ids and the model of the other engines. An optional extra."""

import importlib.util
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lab.benchmarks.engines import Run
from lab.benchmarks.models import LoadedModel
from lab.benchmarks.workloads import Work, part_of_pairs
from lens_engine.model.tokenization import Tokens
from lens_engine.types import LabelLogProbs

LARGEST_BATCH = 512
_SMALLEST_BATCH = 4
_FEWEST_ROWS = 16
"""Minimum number of rows that a batch size is tried on."""
_LOGIT_BYTES = {"cpu": 3 << 30, "cuda": 12 << 30}
"""Maximum size of the logits of a batch (bytes). HFLM holds them twice, as logits and as log-probabilities."""


def has_harness() -> bool:
    return importlib.util.find_spec("lm_eval") is not None


class EncodedWork(NamedTuple):
    """A workload as token ids, the same as in `CausalLMScorer`. Every prefix must have a demonstration."""

    prefixes: list[Tokens]
    queries: list[Tokens]
    spans: list[Tokens]  #: of each label word

    @classmethod
    def of(cls, work: Work, loaded: LoadedModel) -> "EncodedWork":
        segments = loaded.segments
        return cls(
            list(segments.encode_prefixes(work.prefixes)),
            list(segments.encode_queries(work.queries, is_first=False)),
            list(segments.encode_spans(work.label_spans)),
        )


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
        logging.getLogger("lm_eval").setLevel(logging.ERROR)  # it warns that the model is loaded already
        from lm_eval.models.huggingface import HFLM

        loaded = self.loaded
        model = HFLM(
            pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=self.batch_size, max_length=loaded.context
        )
        encoded = EncodedWork.of(work, loaded)
        requests = [  # identifier, context tokens, continuation tokens
            ((f"{p} {q}", str(label)), [*prefix, *query], list(span))
            for p, prefix in enumerate(encoded.prefixes)
            for q, query in enumerate(encoded.queries)
            for label, span in enumerate(encoded.spans)
        ]
        shape = (len(work.prefixes), len(work.queries), len(work.label_spans))

        def run() -> LabelLogProbs:
            answers = model._loglikelihood_tokens(requests, disable_tqdm=True)
            return np.array([log_prob for log_prob, _ in answers], np.float32).reshape(shape)

        return run


def tune_harness(
    loaded: LoadedModel, work: Work, largest: int = LARGEST_BATCH, clock: Callable[[], float] = time.perf_counter
) -> HarnessEngine:
    """The engine at its fastest batch size for `work`: doubled until two in a row are slower than the best."""
    encoded = EncodedWork.of(work, loaded)
    rows_per_pair = len({span[:-1] for span in encoded.spans})
    rates: dict[int, float] = {}
    for size in _batch_sizes(loaded, encoded, min(largest, work.num_pairs)):
        part = part_of_pairs(work, -(-max(size, _FEWEST_ROWS) // rows_per_pair), whole_prefixes=False)
        run = HarnessEngine(loaded, size).prepare(part)
        start = clock()
        run()
        rates[size] = part.num_pairs / (clock() - start)
        if len(rates) > 2 and max(list(rates.values())[-2:]) < max(list(rates.values())[:-2]):
            break
    return HarnessEngine(loaded, max(rates, key=lambda size: rates[size]), rows_per_pair)


def _batch_sizes(loaded: LoadedModel, work: EncodedWork, largest: int) -> Iterator[int]:
    longest = sum(max(map(len, part)) for part in work)
    width = loaded.model.config.vocab_size * next(loaded.model.parameters()).element_size()
    limit = _LOGIT_BYTES.get(loaded.device.type, _LOGIT_BYTES["cpu"]) // (longest * width)
    size = _SMALLEST_BATCH
    while size <= max(min(largest, limit), _SMALLEST_BATCH):
        yield size
        size *= 2
