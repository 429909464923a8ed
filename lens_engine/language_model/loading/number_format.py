"""Which number format to compute in: the most precise of those that are about as fast as the fastest.

Measured on the bundled model against float32 (docs/performance.md): float16, with 11 significant bits,
stays closer than bfloat16 with 8, but overflows where bfloat16 does not; either keeps the order of
InfoScores. So float16 goes first where a device multiplies it as fast, and a format that fails the
check at loading makes way for the next.
"""

import time

import numpy as np
import torch

from lens_engine.types import LabelLogProbs

_ROWS, _SIZE = 512, 1024  # about one forward's worth of one layer of a small model
_REPEATS = 7
MATERIAL_SPEEDUP = 1.3
"""A less precise format has to be faster than this factor to be worth its rounding."""

LARGEST_ROUNDING = 1.0
"""Nats that 16 bits may move a log-probability from float32 on random tokens; more is no rounding."""

_BY_PRECISION = (torch.float32, torch.float16, torch.bfloat16)


def rank_dtypes(device: torch.device) -> list[torch.dtype]:
    """Formats to try on this device, best first; float32 is always among them.

    float16 is tried on CUDA only: a processor without it needs seconds for one product.
    The order rests on a measurement of matrix products: it is the same on the same machine unless two
    formats are close, so a run records what it used.
    """
    tried = [dtype for dtype in _BY_PRECISION if device.type == "cuda" or dtype != torch.float16]
    rates = {dtype: _multiplications_per_second(dtype, device) for dtype in tried}
    fast = [dtype for dtype in tried if MATERIAL_SPEEDUP * rates[dtype] >= max(rates.values())]
    return list(dict.fromkeys([*fast, torch.float32]))


def is_fit(label_log_probs: LabelLogProbs, reference: LabelLogProbs | None) -> bool:
    """Whether a format's scores are finite, and no further than rounding from those in float32, if there are any."""
    if not np.isfinite(label_log_probs).all():
        return False
    return reference is None or float(np.abs(label_log_probs - reference).max()) <= LARGEST_ROUNDING


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
