"""The steps of `make gpu`: generators of findings. `faults` make a step wrong. A rehearsal runs on the processor."""

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import distributions
from typing import Any

import torch

from lab.benchmarks.engines import EXECUTORS, LensEngine
from lab.benchmarks.measuring import largest_delta
from lab.benchmarks.models import LoadedModel, ModelFamily, random_model, random_shape, train_tokenizer
from lab.benchmarks.texts import corpus_task, generate_examples
from lab.benchmarks.workloads import WORKLOADS, build_work
from lens_engine.model.base import LabelScorer
from lens_engine.model.local.executor_choice import TOLERANCE
from lens_engine.model.local.load import scorer_from_model
from lens_engine.model.local.torch_choices import choose_dtype
from lens_engine.presets import resolve_config
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples

Finding = dict[str, Any]

LARGEST_DELTAS = {**TOLERANCE, torch.float32: 1e-4}
"""Largest |Δ log p| from plain in float32 that counts as rounding. In 16 bits packed has a kernel of CUDA's own."""

_SPARE_BYTES = 1 << 29
"""Memory beside the weights that torch may use in the step memory."""
_REHEARSED_TOKENS = 600
"""Forwards of more tokens fail in a rehearsal, since a processor's memory cannot be limited."""

_SMALL = {
    "num_demonstrations": 4,
    "rows": {"judging": 10},
    "filtering": {"candidates": 48, "keep": 12, "rounds": 2, "initial_score_size": 4, "max_score_size": 8},
    "search": {"validation": 16, "beam_width": 2, "children": 3, "iterations": 2, "forms": ("fixed",)},
    "classifier": {"kind": "none"},
}
"""Options of a small selection."""


def read_machine(rehearses: bool) -> Iterator[Finding]:
    """Versions, the device, and its number format."""
    device = _device(rehearses)
    packages = {found.name: found.version for found in distributions() if found.name.startswith(("torch", "nvidia"))}
    yield {"python": platform.python_version(), "packages": packages}
    if device.type == "cuda":
        yield {"device": str(torch.cuda.get_device_properties(device))}
    yield {"number format": str(choose_dtype(device))}


def check_exactness(rehearses: bool) -> Iterator[Finding]:
    """Each executor on each workload against plain in float32, by number format."""
    family = _family(rehearses)
    exact = family.load(torch.float32)
    for spec in WORKLOADS:
        work = build_work(spec).part(4, 6)
        expected = LensEngine.over(exact, "plain").prepare(work)()
        for dtype, most in list(LARGEST_DELTAS.items())[: 2 if rehearses else 3]:
            loaded = exact if dtype == torch.float32 else family.load(dtype)
            deltas = {
                name: largest_delta(LensEngine.over(loaded, name).prepare(work)(), expected) for name in EXECUTORS
            }
            faults = [name for name, delta in deltas.items() if not delta <= most]
            yield {"workload": spec.key, "dtype": str(dtype), "largest difference of log p": deltas, "faults": faults}


def check_selection(rehearses: bool) -> Iterator[Finding]:
    """A small selection in float32 with each executor, and packed twice: the same choice each time."""
    loaded = _family(rehearses).load(torch.float32)
    started = time.monotonic()
    found = {
        run: _select(scorer_from_model(loaded.model, loaded.tokenizer, executor=name))
        for run, name in [*((name, name) for name in EXECUTORS), ("packed again", EXECUTORS[0])]
    }
    different = [run for run, choice in found.items() if choice != found["plain"]]
    yield {"permutation": found["plain"], "seconds": time.monotonic() - started, "faults": different}


def check_memory(rehearses: bool) -> Iterator[Finding]:
    """Scoring in too little memory: forwards become smaller, and the scores stay."""
    device = _device(rehearses)
    loaded = _family(rehearses).load(torch.float32)
    work = build_work(WORKLOADS[0]).part(8, 8) if rehearses else build_work(WORKLOADS[2]).part(16, 100)
    scorer = scorer_from_model(loaded.model, loaded.tokenizer)
    expected, budget = scorer.score(work.prefixes, work.queries, work.label_spans), scorer.token_budget
    scorer.release()
    with _little_memory(loaded, device):
        found = scorer.score(work.prefixes, work.queries, work.label_spans)
    delta = largest_delta(found, expected)
    faults = [] if delta <= LARGEST_DELTAS[torch.float32] else [f"scores differ by {delta:.2g}"]
    if scorer.token_budget >= budget:
        faults.append("forwards did not become smaller")
    yield {"tokens a forward": [budget, scorer.token_budget], "largest difference of log p": delta, "faults": faults}


def _select(scorer: LabelScorer) -> tuple[int, ...]:
    """The rows of the permutation that the search of one small selection chooses."""
    problem = Problem(corpus_task("reviews"), generate_examples("reviews", 160))
    result = select_support_examples(problem, scorer, resolve_config("quick", _SMALL), progress=False)
    return next(one.rows for one in result.contenders if one.name == "LENS 1")


RUNS: Mapping[str, Callable[[bool], Iterator[Finding]]] = {
    "machine": read_machine,
    "exactness": check_exactness,
    "selection": check_selection,
    "memory": check_memory,
}


def _device(rehearses: bool) -> torch.device:
    return torch.device("cpu") if rehearses else torch.device("cuda", torch.cuda.current_device())


def _family(rehearses: bool) -> ModelFamily:
    """Random weights: of GPT-2 Large's width and heads, or of a tiny model."""
    tokenizer = train_tokenizer()
    words = {"vocab_size": len(tokenizer)}
    shape = random_shape("mini", **words) if rehearses else random_shape("gpt2-large", n_layer=12, **words)
    return ModelFamily("random", tokenizer, partial(random_model, shape), _device(rehearses))


@contextmanager
def _little_memory(loaded: LoadedModel, device: torch.device) -> Iterator[None]:
    """A context in which torch may use half a gibibyte beside the weights; on a processor, large forwards fail."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        _, total = torch.cuda.mem_get_info(device)
        allowed = torch.cuda.memory_allocated(device) + _SPARE_BYTES
        torch.cuda.set_per_process_memory_fraction(allowed / total, device)
        yield
        torch.cuda.set_per_process_memory_fraction(1.0, device)
        return

    def refuse_large(_model: Any, _args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kwargs["input_ids"].numel() > _REHEARSED_TOKENS:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more than a rehearsal allows")

    with loaded.model.register_forward_pre_hook(refuse_large, with_kwargs=True):
        yield
