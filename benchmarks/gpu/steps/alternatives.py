"""Step alternatives: what another kernel or another size of forward would gain."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from benchmarks.engines.base import encode
from benchmarks.gpu.kernels import list_kernels
from benchmarks.gpu.runner import Finding, Setting
from benchmarks.gpu.steps.profile import cut_to_tokens
from benchmarks.measuring.agreement import largest_delta
from benchmarks.workloads.models import LoadedModel, find_model
from benchmarks.workloads.work import WORKLOADS, build_work
from lens_engine.language_model.loading.load import TOKEN_BUDGETS, scorer_from_model
from lens_engine.scoring.executors import PackedExecutor, TokenCounters, Workload
from lens_engine.scoring.executors.varlen import AttendSequences, Sequences
from lens_engine.types import LabelLogProbs

_KEYS = ("W2", "W1-14")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run packed."""

    name: str
    kernel: AttendSequences | None  #: None for the executor's own choice
    budget: int  #: tokens a forward


def list_variants(device: torch.device, budget: int) -> tuple[Variant, ...]:
    kernels = list_kernels(device)
    return (
        Variant("as it is", None, budget),
        *(Variant(f"kernel {name}", kernel, budget) for name, kernel in kernels.items() if name != "in use"),
        Variant("half the budget", None, budget // 2),
        Variant("twice the budget", None, 2 * budget),
    )


def compare_alternatives(setting: Setting) -> Iterator[Finding]:
    """Tokens a second of each variant on W2 and W1-14, in turns; then the parts of a forward alone."""
    device = torch.device(setting.device)
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    loaded = find_model(setting.model, device, setting.tokenizer).load(dtype)
    scorer_from_model(loaded.model, loaded.tokenizer, executor="packed")  # registers the attention function
    budget = 256 if setting.is_rehearsal else TOKEN_BUDGETS["cuda"]
    seconds, repetitions = (0.0, 1) if setting.is_rehearsal else (1.0, 3)
    for spec in WORKLOADS:
        if spec.key in _KEYS:
            work = encode(cut_to_tokens(build_work(spec), loaded, 4 * budget), loaded).workload
            variants = list_variants(device, budget)
            yield {"workload": spec.key, "variants": compare_variants(variants, work, loaded, seconds, repetitions)}
    yield {"head, seconds": time_heads(loaded, 16 if setting.is_rehearsal else 3584)}
    yield {
        "attention of one layer, seconds": time_passes(device, dtype, budget, heads=4 if setting.is_rehearsal else 20)
    }


def compare_variants(
    variants: tuple[Variant, ...], work: Workload, loaded: LoadedModel, seconds: float, repetitions: int
) -> list[Finding]:
    """Median tokens a second of each variant, and its largest |Δ log p| from the first."""
    expected: LabelLogProbs | None = None
    rates: dict[str, list[float]] = {}
    notes: dict[str, str | float] = {}
    for variant in variants:
        try:
            found = _run(variant, work, loaded)  # sets kernels up
        except (RuntimeError, TypeError, ValueError) as error:
            notes[variant.name] = f"{error!s:.300}"
            continue
        expected = found if expected is None else expected
        notes[variant.name] = largest_delta(found, expected)
        rates[variant.name] = []
    for _ in range(repetitions):
        for variant in variants:
            if variant.name in rates:
                rates[variant.name].append(_rate(variant, work, loaded, seconds))
    return [
        {
            "variant": variant.name,
            "tokens/s": statistics.median(rates[variant.name]) if variant.name in rates else None,
            "largest difference of log p, or error": notes[variant.name],
        }
        for variant in variants
    ]


def _rate(variant: Variant, work: Workload, loaded: LoadedModel, seconds: float) -> float:
    start, runs = time.perf_counter(), 0
    while not runs or time.perf_counter() - start < seconds:
        _run(variant, work, loaded)  # it ends with a copy to the host, so the card has finished
        runs += 1
    return runs * work.ideal_tokens / (time.perf_counter() - start)


def _run(variant: Variant, work: Workload, loaded: LoadedModel) -> LabelLogProbs:
    # An executor of its own, which holds no prefixes of an earlier run.
    executor = PackedExecutor(loaded.model, TokenCounters(), kernel=variant.kernel)
    with torch.inference_mode():
        return executor.run(work, variant.budget)


def time_heads(loaded: LoadedModel, positions: int) -> Mapping[str, float | str]:
    """Seconds of the head at this number of positions: in float32, in the model's format, and with float32 sums."""
    weights = loaded.model.get_output_embeddings().weight
    hidden = torch.randn(positions, weights.shape[1], device=loaded.device).to(weights.dtype)
    wide = weights.float()
    ways: dict[str, Callable[[], Tensor]] = {
        "float32": lambda: hidden.float() @ wide.T,
        f"{loaded.dtype}": lambda: hidden @ weights.T,
        f"{loaded.dtype}, float32 sums": lambda: torch.mm(hidden, weights.T, out_dtype=torch.float32),
    }
    return time_ways(ways, loaded.device)


def time_passes(device: torch.device, dtype: torch.dtype, tokens: int, *, heads: int) -> Mapping[str, float | str]:
    """Seconds of the attention of one layer of W2: prefixes and segments over themselves in one call and in two."""
    prefix, segment = 254, 25
    segments = max((tokens - 8 * prefix) // segment, 1)
    prefixes = min(8, max(tokens // prefix, 1))
    total = prefixes * prefix + segments * segment
    query, key, value = (torch.randn(total, heads, 64, device=device).to(dtype) for _ in range(3))
    fed = prefixes * prefix
    first, rest, together = (
        Sequences.of(lengths, lengths, device)
        for lengths in ([prefix] * prefixes, [segment] * segments, [prefix] * prefixes + [segment] * segments)
    )

    def attend_once(kernel: AttendSequences) -> None:
        kernel(query, key, value, together, 0.125, True)

    def attend_twice(kernel: AttendSequences) -> None:
        kernel(query[:fed], key[:fed], value[:fed], first, 0.125, True)
        kernel(query[fed:], key[fed:], value[fed:], rest, 0.125, True)

    ways: dict[str, Callable[[], object]] = {}
    for name, kernel in list_kernels(device).items():
        ways |= {f"{name}, one call": partial(attend_once, kernel), f"{name}, two calls": partial(attend_twice, kernel)}
    return time_ways(ways, device)


def time_ways(ways: Mapping[str, Callable[[], object]], device: torch.device) -> dict[str, float | str]:
    """Median seconds of five runs of ten in a row of each way, after one to set it up; the error of one that fails."""
    timed: dict[str, float | str] = {}
    repeats = 10 if device.type == "cuda" else 1
    for name, way in ways.items():
        try:
            way()
            timed[name] = statistics.median(_time_in_a_row(way, repeats, device) for _ in range(5))
        except (RuntimeError, TypeError, ValueError) as error:
            timed[name] = f"{error!s:.300}"
    return timed


def _time_in_a_row(way: Callable[[], object], repeats: int, device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    for _ in range(repeats):
        way()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return (time.perf_counter() - start) / repeats
