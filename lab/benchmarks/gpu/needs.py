"""What the machine must have. Imports the standard library only, because any other package may be missing."""

import re
from collections.abc import Callable, Mapping

from lab.benchmarks.machine import find_version

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
"""The oldest version that works of each package; () for any."""


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
