"""Shares of the time of the packed executor, by kind of work."""

from collections import defaultdict
from collections.abc import Mapping

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.engines.base import Run
from benchmarks.report.records import ProfileRow

_KINDS: Mapping[str, tuple[str, ...]] = {  # the first that fits
    "attention kernels": ("attention", "flash", "fmha"),
    "matrix products": ("addmm", "aten::mm", "bmm", "matmul", "linear", "gemm", "cutlass", "nvjet"),
    "log-sum-exp of the head": ("logsumexp",),
    "gathering and copying": ("index", "copy", "cat", "gather", "clone", "fill", "memcpy", "empty"),
}
_OTHER = "activations, norms, positions and the rest"


def profile_run(run: Run, device: torch.device) -> tuple[ProfileRow, ...]:
    """Shares of the time inside operators, by kind; the largest first. The interpreter's own time is left out."""
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler:
        run()
    events = profiler.key_averages()
    if device.type == "cuda":  # operators carry the time of their kernels too: kernels alone count
        kernels = [event for event in events if event.device_type == DeviceType.CUDA]
        return group_by_kind({event.key: float(event.self_device_time_total) for event in kernels})
    return group_by_kind({event.key: float(event.self_cpu_time_total) for event in events})


def group_by_kind(times: Mapping[str, float]) -> tuple[ProfileRow, ...]:
    """Shares of the times of operators, by the kind of work that their names tell. The shares add up to one."""
    totals: dict[str, float] = defaultdict(float)
    for operator, microseconds in times.items():
        totals[kind_of(operator)] += microseconds
    whole = sum(totals.values()) or 1.0
    rows = (ProfileRow(kind=kind, share=total / whole) for kind, total in totals.items())
    return tuple(sorted(rows, key=lambda row: -row.share))


def kind_of(operator: str) -> str:
    name = operator.lower()
    return next((kind for kind, parts in _KINDS.items() if any(part in name for part in parts)), _OTHER)
