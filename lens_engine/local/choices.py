"""The names of number formats and devices, checked without torch."""

import re

from lens_engine.errors import InvalidConfig

DTYPES = ("float32", "bfloat16", "float16")
_DEVICE = re.compile(r"auto|(cpu|cuda|mps|xpu)(:\d{1,2})?")


def check_dtype(name: str) -> None:
    """
    Raises:
        InvalidConfig: the name is no number format, and not "auto".
    """
    if name != "auto" and name not in DTYPES:
        raise InvalidConfig(f"dtype {name!r} is not one of auto, {', '.join(DTYPES)}", field="dtype")


def check_device(name: str) -> None:
    """
    Raises:
        InvalidConfig: the name is no device of torch, and not "auto". Whether this machine has it, torch says.
    """
    if not _DEVICE.fullmatch(name):
        raise InvalidConfig(f"device {name!r} is not a torch device; use auto, cpu or cuda", field="device")
