"""Scorers that the worker of a test makes by name: quick, and obedient where a test wants a fault.

They give what `TableScorer` gives, so that a disturbed run must end with the digest of an undisturbed one.
"""

import os
import signal
import time
from pathlib import Path
from typing import NoReturn

from lens_engine.errors import UnreadableModel
from lens_engine.testing import TableScorer

HOLD_VARIABLE = "LENS_E2E_HOLD"


def held() -> TableScorer:
    """Waits before each call whose number is at least the one in the hold file, for as long as it exists."""
    hold = Path(os.environ[HOLD_VARIABLE])

    def wait(call: int) -> None:
        while _is_held(hold, call):
            time.sleep(0.01)

    return TableScorer(before_call=wait)


def loading() -> TableScorer:
    """Takes as long to load as the hold file exists."""
    while Path(os.environ[HOLD_VARIABLE]).exists():
        time.sleep(0.01)
    return TableScorer()


def broken() -> NoReturn:
    """Cannot be loaded on this machine."""
    raise UnreadableModel("model 'broken' cannot be loaded: model.safetensors is damaged or cut off; download it again")


def leaking() -> TableScorer:
    """Fails with a text in the message, as an engine with a fault of ours might."""

    def fail(_prefix: object, query: str, _label: str) -> NoReturn:
        raise RuntimeError(f"cannot score {query!r}")

    return TableScorer(fail)


def poisonous() -> TableScorer:
    """Kills its process in the middle of every attempt."""

    def die(call: int) -> None:
        if call == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    return TableScorer(before_call=die)


def _is_held(hold: Path, call: int) -> bool:
    try:
        return call >= int(hold.read_text() or 0)
    except FileNotFoundError:
        return False
