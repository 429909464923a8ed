"""One run of pytest on a copy of the repository."""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_TIME_LIMIT_SECONDS = 600


class Outcome(StrEnum):
    """What became of the tests."""

    PASSED = "survived"  #: every test passed, so none misses the mechanism
    FAILED = "noticed"
    HUNG = "hung"  #: a test did not end in time, which counts as noticed
    BROKEN = "broken"  #: pytest ran no test, so the mutation says nothing


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a run of tests, the tests that failed, and the output."""

    outcome: Outcome
    failed: tuple[str, ...]
    seconds: float
    output: str

    @property
    def is_noticed(self) -> bool:
        return self.outcome in {Outcome.FAILED, Outcome.HUNG}


def run_tests(root: Path, tests: list[str]) -> Trial:
    """Run the tests in the repository at `root`, in their own process, until the first one fails."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=_TIME_LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Trial(Outcome.HUNG, (), time.monotonic() - begun, "")
    return Trial(
        _OUTCOMES.get(done.returncode, Outcome.BROKEN),
        tuple(_FAILED.findall(done.stdout)),
        time.monotonic() - begun,
        done.stdout + done.stderr,
    )


_OUTCOMES = {0: Outcome.PASSED, 1: Outcome.FAILED}
"""By pytest's exit status. 2 to 5: interrupted, internal error, wrong usage, no test found."""
