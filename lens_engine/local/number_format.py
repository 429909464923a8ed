"""Chooses the number format: the most precise format that is about as fast as the fastest.

Measured on the bundled model against float32 (docs/performance.md): float16 (11 significant bits) is
closer than bfloat16 (8), but may overflow where bfloat16 does not. Both keep the order of InfoScores. So
float16 is tried before bfloat16 if the device multiplies it as fast. If a format fails the check at
loading, the next format is tried.
"""

import statistics
import time

import numpy as np
import torch

from lens_engine.types import LabelLogProbs

_ROWS, _SIZE = 512, 1024  # about one layer of a small model in one forward
_REPEATS = 7

# A GPU multiplies the matrices above in less time than a launch takes, so all formats would look alike. These are
# large enough to fill every GPU, and are launched one after the other without waiting.
_GPU_SIZE = 4096
_GPU_WARM_UPS, _GPU_PRODUCTS, _GPU_REPEATS = 3, 10, 3

MATERIAL_SPEEDUP = 1.3
"""A less precise format is used only if it is faster by this factor."""

LARGEST_ROUNDING = 1.0
"""Largest difference of a 16-bit log-probability from float32 on random tokens (nats); more is not rounding."""

_BY_PRECISION = (torch.float32, torch.float16, torch.bfloat16)


def rank_dtypes(device: torch.device) -> list[torch.dtype]:
    """Formats to try on this device, best first; float32 is always among them.

    float16 is tried only on CUDA: a CPU without float16 needs seconds for one product. The order follows from
    measured matrix products. If two formats are about equally fast, it may change between runs, so a run records
    its format.
    """
    tried = [dtype for dtype in _BY_PRECISION if device.type == "cuda" or dtype != torch.float16]
    rates = {dtype: _multiplications_per_second(dtype, device) for dtype in tried}
    fast = [dtype for dtype in tried if MATERIAL_SPEEDUP * rates[dtype] >= max(rates.values())]
    return list(dict.fromkeys([*fast, torch.float32]))


def is_fit(label_log_probs: LabelLogProbs, reference: LabelLogProbs | None) -> bool:
    """Whether a format's scores are finite and, if there is a float32 reference, differ from it only by rounding."""
    if not np.isfinite(label_log_probs).all():
        return False
    return reference is None or float(np.abs(label_log_probs - reference).max()) <= LARGEST_ROUNDING


def _multiplications_per_second(dtype: torch.dtype, device: torch.device) -> float:
    """Products of two matrices in a second; their size depends on the kind of device only."""
    if device.type == "cuda":
        with torch.cuda.device(device):  # events are recorded on the current GPU
            return 1.0 / time_on_gpu(torch.ones(_GPU_SIZE, _GPU_SIZE, dtype=dtype, device=device))
    left = torch.ones(_ROWS, _SIZE, dtype=dtype, device=device)
    right = torch.ones(_SIZE, _SIZE, dtype=dtype, device=device)
    _multiply(left, right)  # the first call is slower
    # The best of a few measurements, because other work on the machine can only slow one down.
    return 1.0 / min(_multiply(left, right) for _ in range(_REPEATS))


def _multiply(left: torch.Tensor, right: torch.Tensor) -> float:
    start = time.perf_counter()
    torch.matmul(left, right)
    return max(time.perf_counter() - start, 1e-9)


def time_on_gpu(matrix: torch.Tensor) -> float:
    """Time of one product of a square matrix with itself, by the clock of the current GPU (seconds).

    The median of a few measurements of many products in a row, so that launching them hides behind computing them.
    """
    for _ in range(_GPU_WARM_UPS):
        torch.matmul(matrix, matrix)
    return statistics.median(_time_products(matrix) for _ in range(_GPU_REPEATS)) / _GPU_PRODUCTS


def _time_products(matrix: torch.Tensor) -> float:
    """Time of `_GPU_PRODUCTS` products (seconds)."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(_GPU_PRODUCTS):
        torch.matmul(matrix, matrix)
    end.record()
    end.synchronize()
    milliseconds: float = start.elapsed_time(end)
    return milliseconds / 1000
