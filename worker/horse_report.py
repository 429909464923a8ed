"""What a work-horse tells its parent: the claim that it made. The parent acts for it when it hangs or is dead."""

import json
import mmap
from dataclasses import astuple

from app.lifecycle.claims import Claim

_BYTES = 512


class HorseReport:
    """A claim in memory that a process shares with those that it forks. It outlives them."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BYTES)

    @property
    def claim(self) -> Claim | None:
        """The claim of the newest work-horse; None before it has made one."""
        text = self._memory[:].rstrip(b"\0")
        return Claim(*json.loads(text)) if text else None

    @claim.setter
    def claim(self, claim: Claim | None) -> None:
        text = b"" if claim is None else json.dumps(astuple(claim)).encode()
        self._memory[:] = text.ljust(_BYTES, b"\0")


REPORT = HorseReport()
