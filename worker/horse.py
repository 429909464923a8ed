"""A work-horse and its parent: what the one tells the other in shared memory, and how each ends without the other.

A work-horse is the forked process that runs one job. Its parent acts for it when it hangs or is dead.
"""

import ctypes
import json
import logging
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import astuple

from app.lifecycle.claims import Claim
from worker.monitoring import JobResult

LEAVE_SECONDS = 5.0
"""Time for the last words to Redis, for which RQ waits ten minutes while it is away."""

_LOOK_SECONDS = 0.2
_BYTES = 512
_RESULTS: tuple[JobResult, ...] = ("unknown", "fit", "unfit")
_PR_SET_PDEATHSIG = 1
_log = logging.getLogger(__name__)


class HorseReport:
    """The claim and the result of the newest work-horse, in memory that a process shares with those that it forks."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BYTES)  # the first byte is the place of the result, the rest the claim

    def clear(self) -> None:
        """Forget the work-horse before: it has no claim, and its result is unknown."""
        self._memory[:] = bytes(_BYTES)

    @property
    def claim(self) -> Claim | None:
        """The claim of the work-horse; None before it has made one."""
        text = self._memory[1:].rstrip(b"\0")
        return Claim(*json.loads(text)) if text else None

    @claim.setter
    def claim(self, claim: Claim) -> None:
        self._memory[1:] = json.dumps(astuple(claim)).encode().ljust(_BYTES - 1, b"\0")

    @property
    def result(self) -> JobResult:
        """How the job ended."""
        return _RESULTS[self._memory[0]]

    @result.setter
    def result(self, result: JobResult) -> None:
        self._memory[0] = _RESULTS.index(result)


REPORT = HorseReport()


def die_with_parent(parent_id: int | None) -> None:
    """Ask the kernel to kill this process when its parent dies for any reason (Linux).

    A work-horse that outlived its parent would compete with the attempt that replaces it and keep the
    GPU's memory. If the parent died before the request was made, this process exits now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_id:
        os._exit(1)


def leave_soon(is_done: Callable[[], bool] = lambda: True, seconds: float = LEAVE_SECONDS) -> None:
    """End this process some seconds after `is_done`, unless it ends before.

    Call it when nothing is left to write but what Redis forgets by itself.
    """

    def leave() -> None:
        while not is_done():
            time.sleep(_LOOK_SECONDS)
        time.sleep(seconds)
        _log.warning("Redis does not answer; the process ends without a last word", extra={"action": "leave"})
        os._exit(0)

    threading.Thread(target=leave, name="lens-leave", daemon=True).start()


def has_exited(process_id: int) -> bool:
    """Whether a child process has ended; it is not reaped."""
    try:
        return os.waitid(os.P_PID, process_id, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
