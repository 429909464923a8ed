"""Step tests: the tests of scoring on this machine's versions, and the tests that need a card."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.gpu.runner import Finding, Setting

_ROOT = Path(__file__).parents[3]
_FOLDERS = ("tests/unit/lens_engine/scoring", "tests/lab/benchmarks/measuring")
_CHOSEN = "varlen or exactness or head or attention or gpu"


def run_tests(setting: Setting) -> Iterator[Finding]:
    """Result of pytest: exit status, summary, and the lines on failures."""
    folders = _FOLDERS[1:] if setting.is_rehearsal else _FOLDERS
    yield call_pytest([*folders, "-k", "seconds" if setting.is_rehearsal else _CHOSEN])


def call_pytest(arguments: Sequence[str]) -> Finding:
    # Other versions of packages warn of other things, which is no failure here.
    options = ["-q", "--tb=line", "-p", "no:cacheprovider", "-W", "default"]
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = finished.stdout.splitlines() or finished.stderr.splitlines() or [""]
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR", "SKIPPED"))]
    return {"exit status": finished.returncode, "summary": lines[-1], "failures and skips": failures}
