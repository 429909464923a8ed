"""Scorers that the worker of a test makes by name: quick, and obedient where a test wants a fault.

They give what `TableScorer` gives, so that a disturbed run must end with the digest of an undisturbed one.
"""

import ctypes
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lens_engine.errors import UnreadableModel
from lens_engine.testing import TableScorer

HOLD_VARIABLE = "LENS_E2E_HOLD"
HELD = "held"
"""Name under which the tests offer `held`; as of a real model, results name it."""


class _Noting(TableScorer):
    """Writes down what it was asked, one query a line."""

    def score(self, prefixes, queries, label_spans):  # type: ignore[no-untyped-def]
        found = super().score(prefixes, queries, label_spans)
        self._note(queries)
        return found

    def score_pairs(self, prefixes, queries, label_spans):  # type: ignore[no-untyped-def]
        found = super().score_pairs(prefixes, queries, label_spans)
        self._note(queries)
        return found

    def _note(self, queries: Sequence[str]) -> None:
        with asked_path(Path(os.environ[HOLD_VARIABLE])).open("a") as file:
            file.write("".join(f"{query.strip()}\n" for query in queries))


def asked_path(hold: Path) -> Path:
    """Where `held` writes down its queries, once it has answered them."""
    return hold.with_suffix(".asked")


def held() -> TableScorer:
    """Waits before each call whose number is at least the one in the hold file, for as long as it exists."""
    hold = Path(os.environ[HOLD_VARIABLE])

    def wait(call: int) -> None:
        while _is_held(hold, call):
            time.sleep(0.01)

    return _Noting(before_call=wait, name=HELD)


def loading() -> TableScorer:
    """Takes as long to load as the hold file exists."""
    while Path(os.environ[HOLD_VARIABLE]).exists():
        time.sleep(0.01)
    return TableScorer()


def deaf() -> TableScorer:
    """Loads for ever if the hold file exists, in a call that hears no signal and lets no other thread run."""
    if (hold := Path(os.environ[HOLD_VARIABLE])).exists():
        asked_path(hold).touch()
        mutex = ctypes.create_string_buffer(64)
        for _ in range(2):
            ctypes.PyDLL(None).pthread_mutex_lock(mutex)
    return held()


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
