"""Seconds and memory of one run, and how far its numbers are from others."""

import ctypes
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from lens_engine.types import LabelLogProbs

_Result = TypeVar("_Result")


class Measurement(NamedTuple):
    """What one run took."""

    wall: float  #: seconds
    cpu: float  #: seconds of all threads of this process
    peak_bytes: int | None  #: beyond the memory in use before; None if unknown


def measure(run: Callable[[], _Result], device: torch.device) -> tuple[_Result, Measurement]:
    """Run once. The device finishes its work before either clock is read."""
    in_use = _start_peak(device)
    _synchronize(device)
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    _synchronize(device)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = None if in_use is None else max(_read_peak(device) - in_use, 0)
    return result, Measurement(wall, cpu, peak)


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _start_peak(device: torch.device) -> int | None:
    """Reset the peak; return the bytes in use, or None where the peak cannot be reset, as on macOS.

    On CUDA the allocator keeps the memory that it holds back. To get it again takes some 20 ms, which a selection
    pays once, and the peak counts allocated memory only.
    """
    gc.collect()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    if sys.platform != "linux":
        return None
    ctypes.CDLL(None).malloc_trim(0)  # memory that was freed but not returned would hide what a run takes
    try:
        Path("/proc/self/clear_refs").write_text("5")  # proc(5): the peak becomes what is in use now
    except OSError:
        return None
    return _read_status("VmRSS:")


def _read_peak(device: torch.device) -> int:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else _read_status("VmHWM:")


def _read_status(name: str) -> int:
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index(name) + 1]) * 1024


def largest_delta(label_log_probs: LabelLogProbs, expected: LabelLogProbs) -> float:
    """max |Δ log p|; infinite if anything is not finite."""
    delta = np.abs(label_log_probs - expected)
    return float(delta.max()) if np.isfinite(delta).all() else float("inf")
