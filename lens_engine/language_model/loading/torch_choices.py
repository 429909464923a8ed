"""Names of number formats, devices and executors -> what torch and the executors call them."""

import torch

from lens_engine.errors import InvalidConfig
from lens_engine.language_model.loading.choices import DTYPES, check_device, check_dtype
from lens_engine.language_model.loading.executor_choice import EXECUTORS
from lens_engine.language_model.loading.number_format import rank_dtypes
from lens_engine.language_model.repeatable import fix_cublas_workspace
from lens_engine.scoring.executors import ExecutorName
from lens_engine.scoring.memory import naming_memory

_DTYPES = {name: getattr(torch, name) for name in DTYPES}


def parse_dtype(name: str, device: torch.device) -> list[torch.dtype]:
    """The number formats to try, in order."""
    if name == "auto":
        with naming_memory("while number formats were compared; free the device, or name a dtype"):
            return rank_dtypes(device)
    check_dtype(name)
    return [_DTYPES[name]]


def open_device(name: str) -> torch.device:
    """The device, ready for its first product."""
    device = _parse_device(name)
    fix_cublas_workspace(device)
    return device


def _parse_device(name: str) -> torch.device:
    check_device(name)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InvalidConfig(f"device {name!r} is not a torch device; use auto, cpu or cuda", field="device") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidConfig(f"device {name!r}: torch sees no CUDA device here; use auto or cpu", field="device")
    return device


def parse_executor(name: str) -> list[ExecutorName]:
    if name == "auto":
        return list(EXECUTORS)
    for known in EXECUTORS:
        if name == known:
            return [known]
    raise InvalidConfig(f"executor {name!r} is not one of auto, {', '.join(EXECUTORS)}", field="executor")
