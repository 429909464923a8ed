"""Scorers that the worker of a test makes by name: quick, and obedient where a test wants a fault.

They give what `TableScorer` gives, so that a disturbed run must end with the digest of an undisturbed one.
"""

import os
import time
from pathlib import Path
from typing import NoReturn

from lens_engine.errors import UnreadableModel
from lens_engine.testing import TableScorer

HOLD_VARIABLE = "LENS_E2E_HOLD"
HELD = "held"
"""Name under which the tests offer `held`; as of a real model, results name it."""


def held() -> TableScorer:
    """Waits before each call whose number is at least the one in the hold file, for as long as it exists."""
    hold = Path(os.environ[HOLD_VARIABLE])

    def wait(call: int) -> None:
        while _is_held(hold, call):
            time.sleep(0.01)

    return TableScorer(before_call=wait, name=HELD)


def unhurried() -> TableScorer:
    """Answers slowly, so that the faults of chaos find runs in every phase: a run has some 20 calls."""
    return TableScorer(before_call=lambda _call: time.sleep(0.06))


def broken() -> NoReturn:
    """Cannot be loaded on this machine."""
    raise UnreadableModel("model 'broken' cannot be loaded: model.safetensors is damaged or cut off; download it again")


def _is_held(hold: Path, call: int) -> bool:
    try:
        return call >= int(hold.read_text() or 0)
    except FileNotFoundError:
        return False
