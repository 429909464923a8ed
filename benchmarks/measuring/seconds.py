"""Seconds, CPU seconds and peak memory of one run, on CPU and on CUDA."""

import ctypes
import gc
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # see proc(5)

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run took."""

    wall: float  #: seconds
    cpu: float  #: seconds of all threads of this process
    peak_bytes: int | None  #: above what was in use before; None where it cannot be told


def measure(run: Callable[[], _Result], device: torch.device) -> tuple[_Result, Measurement]:
    """Run once. Work that the device has been given is finished before either clock is read."""
    in_use = _start_peak(device)
    _synchronize(device)
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    _synchronize(device)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = None if in_use is None else max(_read_peak(device) - in_use, 0)
    return result, Measurement(wall, cpu, peak)


def matmul_rate(dtype: torch.dtype, device: torch.device) -> float:
    """Floating-point operations a second of the best square matrix product: the most a model can hope for."""
    sizes = (2048, 4096, 8192) if device.type == "cuda" else (512, 1024, 2048)
    return max(_multiply(size, dtype, device) for size in sizes)


def _multiply(size: int, dtype: torch.dtype, device: torch.device) -> float:
    left = torch.randn(size, size, device=device).to(dtype)
    right = torch.randn(size, size, device=device).to(dtype)
    repeats = 20 if device.type == "cuda" else 1
    seconds = []
    for _ in range(6):  # the first sets things up
        _synchronize(device)
        start = time.perf_counter()
        for _ in range(repeats):
            torch.matmul(left, right)
        _synchronize(device)
        seconds.append((time.perf_counter() - start) / repeats)
    return 2.0 * size**3 / min(seconds[1:])


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _start_peak(device: torch.device) -> int | None:
    """Begin to watch; bytes in use now."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    if sys.platform != "linux":
        return None
    ctypes.CDLL(None).malloc_trim(0)  # freed memory that the allocator holds back would hide what a run takes
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return None
    return _read_status("VmRSS")


def _read_peak(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else _read_status("VmHWM")


def _read_status(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
