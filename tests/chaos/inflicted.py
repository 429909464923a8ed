"""What a fault leaves behind: how it is mended, and whom it hit."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from tests.chaos.service import Member

Mend = Callable[[], None]


class FaultSkipped(Exception):
    """The fault cannot be had now or on this machine. The message says why."""


@dataclass(frozen=True, slots=True)
class Inflicted:
    """A fault under way. `mend` ends it; None for a fault that is over at once."""

    where: str
    mend: Mend | None = None
    victim: str | None = None  #: id of the selection that the disturbed worker ran
    member: Member | None = None


def freeze_all(processes: list[psutil.Process]) -> Mend:
    """SIGSTOP; the way back is SIGCONT."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()

    def mend() -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    return mend
