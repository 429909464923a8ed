"""How much memory a process and all its children take together, at most."""

import threading
from types import TracebackType
from typing import Self

import psutil

_INTERVAL_SECONDS = 0.25


class MemoryWatch:
    """Samples the resident memory of this process tree while its block runs.

    The sum counts pages that processes share (Postgres's buffers, a forked worker's) once for each:
    it is an upper bound.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        root = psutil.Process()
        while True:
            self.peak_bytes = max(self.peak_bytes, measure_tree(root))
            if self._done.wait(_INTERVAL_SECONDS):
                return


def measure_tree(root: psutil.Process) -> int:
    """Resident bytes of a process and all below it; those that end meanwhile count nothing."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total
