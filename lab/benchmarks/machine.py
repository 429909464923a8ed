"""What the machine has. Imports the standard library only, because any other package may be missing."""

import os
from importlib.metadata import PackageNotFoundError, version


def find_version(name: str) -> str | None:
    """The version of an installed package; None if it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def count_processors() -> int:
    """Processors that this process may use; the machine may have more."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
