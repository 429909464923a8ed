"""Copied beside both releases: a run takes seconds, so that restarts find runs in every phase."""

import time

from lens_engine.testing import TableScorer

_CALL_SECONDS = 0.3


def slow() -> TableScorer:
    """Waits before each of the some 20 calls of a run."""
    return TableScorer(before_call=lambda _call: time.sleep(_CALL_SECONDS))
