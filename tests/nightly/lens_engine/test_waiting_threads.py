"""Threads that wait leave the processor to others, unless the environment says otherwise."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.slow.test_light_starts import SUGGESTING, check_threads

LOOKING_WORKER = """
import sys
from worker.__main__ import EXIT_UNFIT, main
from worker.inspection import UnfitWorker
def look(settings):
    import sklearn.linear_model
    raise UnfitWorker("nothing to do")
sys.exit(main(look) != EXIT_UNFIT)
"""
"""A worker whose look at the device imports what has threads, and that then ends."""


@pytest.mark.parametrize(("given", "policy"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
@pytest.mark.parametrize("command", [SUGGESTING, ("-c", LOOKING_WORKER)])
def test_threads_that_wait_sleep_unless_the_environment_says_otherwise(
    tmp_path: Path, command: Sequence[str], given: Mapping[str, str], policy: str
) -> None:
    check_threads(tmp_path, command, given, policy)
