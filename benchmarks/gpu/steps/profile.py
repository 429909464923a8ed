"""Step profile: where the time of packed forwards goes, on the card and on the host."""

import cProfile
import pstats
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.engines.base import Run, encode
from benchmarks.engines.lens import LensEngine
from benchmarks.gpu.runner import Finding, Setting
from benchmarks.measuring.profiling import group_by_kind
from benchmarks.workloads.models import LoadedModel, find_model
from benchmarks.workloads.work import WORKLOADS, Work, build_work
from lens_engine.scoring import executors

_KEYS = ("W2", "W1-14", "W4")
_TOP_KERNELS, _TOP_FUNCTIONS = 25, 15
_ENGINE = str(Path(executors.__file__).parents[2])


def profile_forwards(setting: Setting) -> Iterator[Finding]:
    """A finding for each workload: about two warm forwards, timed, then under torch's profiler, then under Python's."""
    device = torch.device(setting.device)
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    loaded = find_model(setting.model, device, setting.tokenizer).load(dtype)
    engine = LensEngine.over(loaded, "packed")
    for spec in WORKLOADS:
        if spec.key in _KEYS:
            budget = 256 if setting.is_rehearsal else engine.scorer.token_budget
            work = cut_to_tokens(build_work(spec), loaded, 2 * budget)
            yield {"workload": spec.key, **profile_work(engine.prepare(work), work, loaded)}


def cut_to_tokens(work: Work, loaded: LoadedModel, tokens: int) -> Work:
    """The part of the work with about this minimum of tokens, at least one prefix with all queries."""
    share = tokens / encode(work, loaded).workload.ideal_tokens
    return work.part(max(min(round(len(work.prefixes) * share), len(work.prefixes)), 1), len(work.queries))


def profile_work(run: Run, work: Work, loaded: LoadedModel) -> Finding:
    for _ in range(2):
        run()  # the first run tokenises and sets kernels up
    wall = _time(run, loaded.device)
    kernels = list_kernels(run, loaded.device)
    encoded = encode(work, loaded)
    operations = 2.0 * (
        loaded.matrix_weights * encoded.workload.ideal_tokens + loaded.head_weights * encoded.label_positions
    )
    busy = sum(seconds for seconds, _ in kernels.values())
    slowest = sorted(kernels.items(), key=lambda item: -item[1][0])[:_TOP_KERNELS]
    return {
        "tokens": encoded.workload.ideal_tokens,
        "label positions": encoded.label_positions,
        "seconds": wall,
        "TFLOP/s": operations / wall / 1e12,
        "busy share": busy / wall,
        "shares": {
            row.kind: row.share for row in group_by_kind({name: seconds for name, (seconds, _) in kernels.items()})
        },
        "kernels": [{"name": name[:120], "ms": 1e3 * seconds, "calls": calls} for name, (seconds, calls) in slowest],
        "host, cumulative ms": list_host_functions(run),
    }


def list_kernels(run: Run, device: torch.device) -> dict[str, tuple[float, int]]:
    """Seconds and calls by kernel on a card, by operator on a processor."""
    on_card = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *((ProfilerActivity.CUDA,) if on_card else ())]
    with profile(activities=activities) as profiler:
        run()
    events = profiler.key_averages()
    if on_card:
        kernels = [event for event in events if event.device_type == DeviceType.CUDA]
        return {event.key: (event.self_device_time_total / 1e6, event.count) for event in kernels}
    return {event.key: (event.self_cpu_time_total / 1e6, event.count) for event in events}


def list_host_functions(run: Run) -> dict[str, float]:
    """Cumulative milliseconds of the engine's own functions, the slowest first. Waiting for the card counts too."""
    profiler = cProfile.Profile()
    profiler.runcall(run)
    found = {
        f"{Path(file).stem}.{name}": 1e3 * cumulative
        for (file, _, name), (_, _, _, cumulative, _) in pstats.Stats(profiler).stats.items()  # type: ignore[attr-defined]
        if file.startswith(_ENGINE)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1])[:_TOP_FUNCTIONS])


def _time(run: Run, device: torch.device) -> float:
    """The best of three, because other work on the machine can only slow one down."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds)
