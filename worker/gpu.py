"""Reads a CUDA GPU through torch. Only a short-lived process may call it: CUDA does not survive a fork."""

import re
import warnings
from pathlib import Path
from typing import Any

from worker.device import Device

_DRIVER = Path("/proc/driver/nvidia/version")
_TRIAL_ROWS = 256


class GpuAbsent(Exception):
    """torch has no such GPU. The message says why."""


def read_gpu(index: int, dtype: str) -> Device:
    """Look at GPU number `index` among those that this process may see, and compute on it once.

    Args:
        dtype: "float32", "bfloat16", "float16", or "auto" for the format that suits the GPU best.

    Raises:
        GpuAbsent: there is no such GPU.
        RuntimeError: the GPU is there, and does not compute.
    """
    import torch

    with warnings.catch_warnings(record=True) as caught:  # torch warns of a driver that is too old, and says False
        warnings.simplefilter("always")
        is_there = torch.cuda.is_available()
    if not is_there:
        raise GpuAbsent(_explain_absence([str(warning.message) for warning in caught]))
    count = torch.cuda.device_count()
    if index >= count:
        raise GpuAbsent(f"torch sees GPUs up to cuda:{count - 1} here")
    device = torch.device("cuda", index)
    properties: Any = torch.cuda.get_device_properties(device)
    free_bytes, total_bytes = torch.cuda.mem_get_info(device)
    number_format = _try_format(device, dtype)
    return Device(
        torch_name=str(device),
        name=properties.name,
        capability=(properties.major, properties.minor),
        driver=read_driver_version(),
        total_bytes=total_bytes,
        free_bytes=free_bytes,
        number_format=number_format,
    )


def read_driver_version(file: Path = _DRIVER) -> str | None:
    """Version of NVIDIA's kernel module, for example "570.124.06"; None where it cannot be read."""
    try:
        found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", file.read_text("utf-8", "replace"))
    except OSError:
        return None
    return None if found is None else found[0]


def _explain_absence(warned: list[str]) -> str:
    import torch

    if torch.version.cuda is None:
        return "this torch is a build without CUDA"
    reason = f": {warned[-1].strip().splitlines()[0]}" if warned else ""
    return f"torch sees no CUDA GPU here{reason}"


def _try_format(device: Any, dtype: str) -> str:
    """Multiply in the number format, because a GPU that torch lists may lack kernels or be broken."""
    import torch

    from lens_engine.local.number_format import rank_dtypes

    chosen = rank_dtypes(device)[0] if dtype == "auto" else getattr(torch, dtype)
    ones = torch.ones(_TRIAL_ROWS, _TRIAL_ROWS, dtype=chosen, device=device)
    found = float((ones @ ones)[0, 0])
    if found != _TRIAL_ROWS:
        raise RuntimeError(f"a product of matrices gave {found} instead of {_TRIAL_ROWS}")
    return str(chosen).removeprefix("torch.")
