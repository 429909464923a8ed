"""Which number format is fastest on a device, by measurement."""

import time

import torch

_ROWS, _SIZE = 512, 1024  # about one forward's worth of one layer of a small model
_REPEATS = 7
MATERIAL_SPEEDUP = 1.3
"""A less precise format has to be faster than this factor to be worth its rounding."""


def choose_dtype(device: torch.device) -> torch.dtype:
    """float32, unless a 16-bit format multiplies matrices materially faster on this device.

    bfloat16 is tried on any device, float16 on CUDA only. The answer is a measurement: it is the same
    on the same machine unless two formats are close, so a run records what it used.
    """
    chosen, rate = torch.float32, _multiplications_per_second(torch.float32, device)
    for dtype in (torch.bfloat16, torch.float16) if device.type == "cuda" else (torch.bfloat16,):
        candidate = _multiplications_per_second(dtype, device)
        if candidate > MATERIAL_SPEEDUP * rate:
            chosen, rate = dtype, candidate
    return chosen


def _multiplications_per_second(dtype: torch.dtype, device: torch.device) -> float:
    """The best of a few, since other work on the machine only ever slows one down."""
    left = torch.ones(_ROWS, _SIZE, dtype=dtype, device=device)
    right = torch.ones(_SIZE, _SIZE, dtype=dtype, device=device)
    _multiply(left, right)  # the first call sets things up
    return 1.0 / min(_multiply(left, right) for _ in range(_REPEATS))


def _multiply(left: torch.Tensor, right: torch.Tensor) -> float:
    start = time.perf_counter()
    torch.matmul(left, right)
    if left.device.type == "cuda":
        torch.cuda.synchronize(left.device)
    return max(time.perf_counter() - start, 1e-9)
