"""Copies between host and device that do not wait for the device, and ranges of tokens laid end to end."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

IntArray = NDArray[np.int64]


def upload(arrays: Sequence[IntArray], device: torch.device) -> list[Tensor]:
    """The arrays on the device, with their shapes; one copy takes them all."""
    flat = np.concatenate([array.ravel() for array in arrays])
    sizes = [array.size for array in arrays]
    if device.type == "cuda":
        pinned = torch.empty(len(flat), dtype=torch.int64, pin_memory=True)
        pinned.numpy()[:] = flat
        moved = pinned.to(device, non_blocking=True)
    else:
        moved = torch.from_numpy(flat).to(device)
    parts = torch.split(moved, sizes)
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def download(values: Tensor) -> Callable[[], NDArray[np.float32]]:
    """Queue the copy of float32 `values` to the host, and return a function that waits for it and gives the array."""
    if values.device.type != "cuda":
        array: NDArray[np.float32] = values.cpu().numpy()
        return lambda: array
    pinned = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    pinned.copy_(values, non_blocking=True)
    is_copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
    is_copied.record(torch.cuda.current_stream(values.device))

    def wait() -> NDArray[np.float32]:
        is_copied.synchronize()
        copied: NDArray[np.float32] = pinned.numpy()
        return copied

    return wait


def ends_of(lengths: IntArray) -> IntArray:
    """0, and where each of the lengths ends when they are laid end to end."""
    return np.concatenate([[0], np.cumsum(lengths)])


def sum_before(lengths: IntArray) -> IntArray:
    """The sum of all lengths before each."""
    sums: IntArray = np.cumsum(lengths) - lengths
    return sums


def join_ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """The numbers of the ranges (start, length), one range after another."""
    joined: IntArray = np.repeat(starts - sum_before(lengths), lengths) + np.arange(int(lengths.sum()))
    return joined
