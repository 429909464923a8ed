"""What is chosen without torch: number formats and devices by name, and numbers of threads."""

import os
import re

from lens_engine.errors import InvalidConfig

DTYPES = ("float32", "bfloat16", "float16")
_DEVICE = re.compile(r"auto|(cpu|cuda|mps|xpu)(:\d{1,2})?")


def check_dtype(name: str) -> None:
    if name != "auto" and name not in DTYPES:
        raise InvalidConfig(f"dtype {name!r} is not one of auto, {', '.join(DTYPES)}", field="dtype")


def check_device(name: str) -> None:
    if not _DEVICE.fullmatch(name):
        raise InvalidConfig(f"device {name!r} is not a torch device; use auto, cpu or cuda", field="device")


def let_threads_sleep() -> None:
    """Let threads of OpenMP that wait sleep, unless the environment says otherwise. Call it before torch is imported.

    By default they spin, and beside another busy process the thread that they wait for has no processor.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def count_processors() -> int:
    """Number of processors that this process may use: those it is bound to, or fewer in a container with a limit."""
    from joblib import cpu_count  # slow to import

    return int(cpu_count())  # type: ignore[no-untyped-call]


def limit_threads(usual: int) -> int | None:
    """The number of threads for torch where its `usual` one is more than this process may use; else None."""
    count = count_processors()
    return None if "OMP_NUM_THREADS" in os.environ or count >= usual else count
