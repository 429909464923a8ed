"""Step memory: scoring on a card that runs out of memory halves its forwards, and frees what it took."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from benchmarks.gpu.runner import Finding, Setting
from benchmarks.measuring.agreement import largest_delta
from benchmarks.workloads.models import LoadedModel, find_model
from benchmarks.workloads.work import WORKLOADS, Work, build_work
from lens_engine.language_model.loading.load import CausalLMScorer, scorer_from_model

_SPARE_BYTES = 1 << 29
"""Memory beside the weights that torch may use in the second run."""
_REHEARSED_TOKENS = 600
"""Forwards of more tokens fail in a rehearsal, since a processor's memory cannot be limited."""


def check_memory(setting: Setting) -> Iterator[Finding]:
    """Scores with all memory and with little: token budgets, largest |Δ log p|, and memory in use before and after."""
    device = torch.device(setting.device)
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    loaded = find_model(setting.model, device, setting.tokenizer).load(dtype)
    work = build_work(WORKLOADS[0]).part(8, 8) if setting.is_rehearsal else build_work(WORKLOADS[2]).part(16, 100)
    scorer = scorer_from_model(loaded.model, loaded.tokenizer)
    yield score_in_little_memory(scorer, loaded, work)


def score_in_little_memory(scorer: CausalLMScorer, loaded: LoadedModel, work: Work) -> Finding:
    expected = scorer.score(work.prefixes, work.queries, work.label_spans)
    scorer.release()
    budget, in_use = scorer.token_budget, bytes_in_use(loaded.device)
    with little_memory(loaded.model, loaded.device):
        found = scorer.score(work.prefixes, work.queries, work.label_spans)
    scorer.release()
    return {
        "executor": scorer.identity.executor,
        "tokens a forward, before": budget,
        "tokens a forward, after": scorer.token_budget,
        "largest difference of log p": largest_delta(found, expected),
        "bytes in use, before": in_use,
        "bytes in use, after": bytes_in_use(loaded.device),
    }


def bytes_in_use(device: torch.device) -> int | None:
    """Memory of tensors on the card; None on a processor."""
    gc.collect()
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else None


@contextmanager
def little_memory(model: Any, device: torch.device) -> Iterator[None]:
    """A context in which torch may use half a gibibyte beside the weights; on a processor, large forwards fail."""
    if device.type != "cuda":
        handle = model.register_forward_pre_hook(_refuse_large, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()
        return
    torch.cuda.empty_cache()
    _, total = torch.cuda.mem_get_info(device)
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_allocated(device) + _SPARE_BYTES) / total, device)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, device)


def _refuse_large(_model: Any, _args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if kwargs["input_ids"].numel() > _REHEARSED_TOKENS:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more than a rehearsal allows")
