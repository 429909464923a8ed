import platform
import subprocess
import sys

import pytest

_FILL_AND_GIVE_BACK = """
from app.selections.reader import give_back_memory

def resident():
    return next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmRSS"))

before = resident()
texts = [bytes(2_000) for _ in range(50_000)]
last = bytes(2_000)
texts.clear()
give_back_memory()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no call for it")
def test_memory_below_a_block_in_use_is_given_back() -> None:
    shown = subprocess.run([sys.executable, "-c", _FILL_AND_GIVE_BACK], capture_output=True, check=True, text=True)
    assert int(shown.stdout) < 20
