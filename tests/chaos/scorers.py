"""The scorer of most selections: instant answers, given slowly, so that faults find runs in every phase."""

import time

from lens_engine.testing import TableScorer

CALL_SECONDS = 0.06


def unhurried() -> TableScorer:
    """Waits before each of the some 20 calls of a run."""
    return TableScorer(before_call=lambda _call: time.sleep(CALL_SECONDS))
