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
from dataclasses import astuple
from typing import Literal, get_args

from app.lifecycle.claims import Claim

JobResult = Literal["unknown", "fit", "unfit"]
"""unfit: by a fault of this worker; unknown: nothing was claimed, or the run died."""

_BYTES = 512
_RESULTS: tuple[JobResult, ...] = get_args(JobResult)
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
