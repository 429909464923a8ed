"""The machine that a comparison describes."""

import os
import subprocess
import sys

import pytest

from lab.benchmarks.machine import count_processors


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin processes to processors")
def test_processors_are_those_this_process_may_use() -> None:
    one = min(os.sched_getaffinity(0))
    pin = f"import os; os.sched_setaffinity(0, [{one}])"
    count = "from lab.benchmarks.machine import count_processors; print(count_processors())"

    counted = subprocess.run([sys.executable, "-c", f"{pin}; {count}"], capture_output=True, check=True)

    assert counted.stdout.split() == [b"1"]
    assert count_processors() == len(os.sched_getaffinity(0))
