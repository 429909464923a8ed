"""A lower bound of the time: the same tokens through the model without its attention."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AttentionInterface

from benchmarks.engines.base import EncodedWork, Run, encode
from benchmarks.workloads.models import LoadedModel
from benchmarks.workloads.work import Work
from lens_engine.types import LabelLogProbs

_NAME = "benchmark_no_attention"


@dataclass(frozen=True)
class AttentionFreeFloor:
    """Feeds each prefix once and each suffix once, the minimum of tokens, in forwards of `budget` tokens.

    Projections, the head at the label positions and its log-sum-exp are done; the numbers mean nothing.
    """

    loaded: LoadedModel
    budget: int
    name: str = "floor"
    shares_prefixes: bool = True
    smallest_sample: int = 56
    note: str = "attention left out"

    def prepare(self, work: Work) -> Run:
        AttentionInterface.register(_NAME, _no_attention)
        encoded = encode(work, self.loaded)
        shape = (len(work.prefixes), len(work.queries), len(work.label_spans))
        return lambda: self._run(encoded, shape)

    @torch.inference_mode()
    def _run(self, encoded: EncodedWork, shape: tuple[int, int, int]) -> LabelLogProbs:
        tokens, positions = encoded.workload.ideal_tokens, encoded.label_positions
        num_forwards = -(-tokens // self.budget)
        normalisers = 0.0
        with _attention_off(self.loaded.model):
            for forward in range(num_forwards):
                first, last = (tokens * n // num_forwards for n in (forward, forward + 1))
                kept = positions * (forward + 1) // num_forwards - positions * forward // num_forwards
                normalisers += self._forward(last - first, kept)
        return np.full(shape, normalisers, np.float32)

    def _forward(self, num_tokens: int, num_kept: int) -> float:
        device = self.loaded.device
        ids = torch.arange(num_tokens, device=device).unsqueeze(0) % 1000
        keep = torch.linspace(0, num_tokens - 1, num_kept, device=device).long()
        # As in a packed row, positions start again long before the model's context ends.
        positions = torch.arange(num_tokens, device=device).unsqueeze(0) % self.loaded.context
        outputs = self.loaded.model(input_ids=ids, position_ids=positions, use_cache=False, logits_to_keep=keep)
        return float(torch.logsumexp(outputs.logits.float(), dim=-1).sum())


def _no_attention(_module: Any, query: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
    """A tensor of the right shape, without attention  # [batch, tokens, heads, size]"""
    return query.transpose(1, 2), None


@contextmanager
def _attention_off(model: Any) -> Iterator[None]:
    original = model.config._attn_implementation
    model.set_attn_implementation(_NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(original)
