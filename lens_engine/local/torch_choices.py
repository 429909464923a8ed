"""Names of number formats, devices and executors -> what torch and the executors call them."""

import os

import torch

from lens_engine.errors import InvalidConfig
from lens_engine.local.choices import DTYPES, check_device, check_dtype
from lens_engine.local.executor_choice import EXECUTORS
from lens_engine.local.executors import ExecutorName
from lens_engine.local.memory import naming_memory
from lens_engine.local.number_format import choose_dtype
from lens_engine.local.surroundings import CUBLAS_WORKSPACE

_DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPES}
_FIXED_WORKSPACE = ":4096:8"  # eight buffers of 4 MiB: one of the two settings that NVIDIA calls repeatable


def parse_dtype(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        with naming_memory("at the first look at the device; free it"):
            return choose_dtype(device)
    check_dtype(name)
    return _DTYPES[name]


def open_device(name: str) -> torch.device:
    """The device, ready for its first product."""
    device = _parse_device(name)
    fix_cublas_workspace(device)
    return device


def fix_cublas_workspace(device: torch.device) -> None:
    """Let cuBLAS give equal bits in equal calls. A value of the environment that is set already stays.

    cuBLAS reads the environment when the process first multiplies on a GPU. So call this before.
    """
    if device.type == "cuda":
        os.environ.setdefault(CUBLAS_WORKSPACE, _FIXED_WORKSPACE)


def _parse_device(name: str) -> torch.device:
    check_device(name)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidConfig(f"device {name!r}: torch sees no CUDA device here; use auto or cpu", field="device")
    return device


def parse_executor(name: str) -> list[ExecutorName]:
    found = [known for known in EXECUTORS if name in ("auto", known)]
    if not found:
        raise InvalidConfig(f"executor {name!r} is not one of auto, {', '.join(EXECUTORS)}", field="executor")
    return found
