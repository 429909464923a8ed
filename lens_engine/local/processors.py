"""Threads that leave the processors to others. Does not import torch."""

import os


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
