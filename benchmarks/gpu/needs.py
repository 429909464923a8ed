"""What the machine must have. Imports the standard library only, because any other package may be missing."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

_OLDEST_PYTHON = (3, 11)
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Need:
    """A package."""

    name: str  #: in the package index
    module: str
    oldest: tuple[int, ...] = ()  #: oldest version that works; () for any
    purpose: str = ""  #: what cannot be measured without it; "" if nothing can


NEEDS = (
    Need("torch", "torch", (2, 10)),
    Need("transformers", "transformers", (5, 5)),
    Need("tokenizers", "tokenizers"),
    Need("safetensors", "safetensors"),
    Need("numpy", "numpy", (2, 2)),
    Need("scipy", "scipy"),
    Need("scikit-learn", "sklearn"),
    Need("threadpoolctl", "threadpoolctl"),
    Need("pydantic", "pydantic", (2, 11)),
    Need("pydantic-core", "pydantic_core"),
    Need("annotated-types", "annotated_types"),
    Need("typing-inspection", "typing_inspection"),
    Need("typing-extensions", "typing_extensions"),
    Need("tqdm", "tqdm"),
    Need("pytest", "pytest", (9, 0), purpose="the step tests"),
    Need("lm-eval", "lm_eval", purpose="the comparison with lm-evaluation-harness"),
)

FindVersion = Callable[[Need], str | None]
"""The version of a package; None if it is missing."""


def find_version(need: Need) -> str | None:
    if find_spec(need.module) is None:
        return None
    try:
        return version(need.name)
    except PackageNotFoundError:
        return "unknown"


def list_missing(
    python: tuple[int, ...], needs: tuple[Need, ...] = NEEDS, find: FindVersion = find_version
) -> tuple[list[str], list[str]]:
    """Sentences on what is missing: what nothing can be measured without, and what only part of it needs."""
    required = [] if python >= _OLDEST_PYTHON else [f"Python {_show(_OLDEST_PYTHON)} or newer; this is {_show(python)}"]
    for_a_part = []
    for need, fault in _find_faults(needs, find):
        if need.purpose:
            for_a_part.append(f"{fault}; without it {need.purpose} is left out")
        else:
            required.append(fault)
    return required, for_a_part


def _find_faults(needs: tuple[Need, ...], find: FindVersion) -> Iterator[tuple[Need, str]]:
    for need in needs:
        found = find(need)
        oldest = f" {_show(need.oldest)} or newer" if need.oldest else ""
        if found is None:
            yield need, f"{need.name}{oldest}"
        elif found != "unknown" and _numbers(found) < need.oldest:
            yield need, f"{need.name}{oldest}; this is {found}"


def _numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: of "2.11.0+cu130" 2, 11 and 0."""
    return tuple(int(number) for number in _NUMBERS.findall(text.partition("+")[0]))[:3]


def _show(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
