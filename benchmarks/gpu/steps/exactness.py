"""Step exactness: every executor in every number format against plain in float32, and what "auto" takes."""

import copy
from collections.abc import Iterator
from typing import Any, get_args

import torch

from benchmarks.gpu.runner import Finding, Setting
from benchmarks.gpu.steps.machine import formats_of
from benchmarks.workloads.models import random_model, random_shape, round_weights
from lens_engine.language_model.loading.executor_choice import EXECUTORS
from lens_engine.language_model.loading.load import scorer_from_model
from lens_engine.language_model.loading.self_check import disagreement, make_check_workload
from lens_engine.scoring.executors import ExecutorName, TokenCounters, Workload
from lens_engine.scoring.labels import build_label_trie
from lens_engine.testing import TinyArchitecture, tiny_causal_lm
from lens_engine.types import LabelLogProbs

_ARCHITECTURES: tuple[TinyArchitecture, ...] = ("gpt2", "llama", "qwen2", "qwen3")
_LAYERS = 4
_BUDGETS = (32_768, 64)
"""All prompts in one forward, and in many."""


def check_exactness(setting: Setting) -> Iterator[Finding]:
    """A finding for each model and number format: max |Δ log p| of each executor, and the executor that "auto" takes.

    "float32" is the difference from plain in float32, "same format" from plain in the format named.
    """
    device = torch.device(setting.device)
    for name, exact in _list_models(setting):
        reference: dict[str, LabelLogProbs] = {}
        for dtype in formats_of(device):
            model = round_weights(copy.deepcopy(exact), dtype).to(device)
            finding = check_model(model, reference)
            yield {"model": name, "dtype": str(dtype), **finding}


def check_model(model: Any, reference: dict[str, LabelLogProbs]) -> Finding:
    """The finding of one model in one format. A float32 model writes its plain scores to `reference`."""
    dtype = next(model.parameters()).dtype
    chosen = scorer_from_model(model, tiny_causal_lm("gpt2").tokenizer).identity.executor
    deltas: dict[str, dict[str, float | str]] = {name: {} for name in EXECUTORS}
    for kind, work in list_workloads(model.config.vocab_size).items():
        expected = _run("plain", model, work, budget=1)
        if dtype == torch.float32:
            reference[kind] = expected
        for name in get_args(ExecutorName):
            for budget in _BUDGETS:
                try:
                    found = _run(name, model, work, budget)
                except RuntimeError as error:
                    deltas[name][f"{kind}, {budget} tokens, error"] = f"{error!s:.300}"
                    continue
                deltas[name][f"{kind}, {budget} tokens, float32"] = disagreement(found, reference[kind])
                deltas[name][f"{kind}, {budget} tokens, same format"] = disagreement(found, expected)
    return {"auto": chosen, "deltas": deltas}


def largest_delta_in_float32(findings: Iterator[Finding]) -> float | None:
    """Largest |Δ log p| of packed and cached in float32; None if there is none, infinite after an error."""
    found = [
        float(delta) if not kind.endswith("error") else float("inf")
        for finding in findings
        if finding.get("dtype") == "torch.float32"
        for name in ("packed", "cached")
        for kind, delta in finding["deltas"][name].items()
    ]
    return max(found, default=None)


def list_workloads(vocabulary_size: int) -> dict[str, Workload]:
    """Prompts with and without a prefix, for label words of one token and for label words that share beginnings."""
    base = make_check_workload(vocabulary_size, 1024)
    one, two, three, four = (vocabulary_size // share for share in (2, 3, 5, 7))
    return {
        "one token": Workload(base.prefixes, base.queries, build_label_trie(("a", "b"), ((one,), (two,)))),
        "branching": Workload(
            base.prefixes,
            base.queries,
            build_label_trie(("a", "b", "c", "d"), ((one,), (two, one), (two, three, four), (two, three, one))),
        ),
        "without prefix": Workload(((),), base.queries, build_label_trie(("a", "b"), ((one,), (two,)))),
    }


def _list_models(setting: Setting) -> Iterator[tuple[str, Any]]:
    for architecture in _ARCHITECTURES[:2] if setting.is_rehearsal else _ARCHITECTURES:
        yield f"tiny {architecture}", tiny_causal_lm(architecture).model
    if not setting.is_rehearsal:
        yield f"gpt2-large, {_LAYERS} layers", small_gpt2()


def small_gpt2() -> Any:
    """A model with the heads and the width of GPT-2 Large and few layers, in float32 on the processor."""
    return random_model(random_shape("gpt2-large", n_layer=_LAYERS), torch.float32).eval().requires_grad_(False)


@torch.inference_mode()
def _run(name: ExecutorName, model: Any, work: Workload, budget: int) -> LabelLogProbs:
    return EXECUTORS[name](model, TokenCounters()).run(work, budget)
