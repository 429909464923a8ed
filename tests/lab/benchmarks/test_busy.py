"""The benchmark beside a busy process."""

import subprocess
import sys

import pytest


def test_table_has_both_policies_with_their_ratio() -> None:
    done = subprocess.check_output([sys.executable, "-m", "lab.benchmarks.busy", "1"], text=True)
    rows = [line.strip("| ").split(" | ") for line in done.splitlines()[3:]]
    assert [row[0] for row in rows] == ["unset", "PASSIVE"]
    for _, alone, beside, ratio in rows:
        assert float(ratio) == pytest.approx(float(beside) / float(alone), rel=0.02, abs=0.06)
