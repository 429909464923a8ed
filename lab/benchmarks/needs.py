"""What the machine has, and lacks. Imports the standard library only, because any other package may be missing."""

import os
import re
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

Version = tuple[int, ...]

_OLDEST_PYTHON = (3, 11)
NEEDS: Mapping[str, Version] = {
    "torch": (2, 10),
    "transformers": (5, 5),
    "tokenizers": (),
    "safetensors": (),
    "numpy": (2, 2),
    "scipy": (),
    "scikit-learn": (),
    "threadpoolctl": (),
    "pydantic": (2, 11),
    "tqdm": (),
}
"""The oldest version that works of each package that `make gpu` needs; () for any."""


def find_version(name: str) -> str | None:
    """The version of an installed package; None if it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def count_processors() -> int:
    """Processors that this process may use; the machine may have more."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def list_missing(
    python: Version, needs: Mapping[str, Version] = NEEDS, find: Callable[[str], str | None] = find_version
) -> list[str]:
    """A line for each package that is missing or too old, and for a Python that is too old."""
    lines = [] if python >= _OLDEST_PYTHON else [f"Python {_show(_OLDEST_PYTHON)} or newer; this is {_show(python)}"]
    for name, oldest in needs.items():
        found = find(name)
        wanted = f"{name} {_show(oldest)} or newer" if oldest else name
        if found is None:
            lines.append(wanted)
        elif _numbers(found) < oldest:
            lines.append(f"{wanted}; this is {found}")
    return lines


def _numbers(text: str) -> Version:
    """The leading numbers of a version: of "2.11.0+cu130" 2, 11 and 0."""
    return tuple(int(number) for number in re.findall(r"\d+", text.partition("+")[0]))[:3]


def _show(numbers: Version) -> str:
    return ".".join(map(str, numbers))
