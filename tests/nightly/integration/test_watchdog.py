"""A process whose event loop is silent ends itself, whatever holds it up; one that stood still does not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = """
import asyncio, os, re, signal, time
from app.web.draining import Watchdog

async def main():
    watchdog = Watchdog(1.5)
    for _ in range(20):
        watchdog.feed()
        await asyncio.sleep(0.1)
    {then}

asyncio.run(main())
"""


CASES = {
    "re.match('(a+)+b', 'a' * 64)": -signal.SIGPROF,  # holds the interpreter lock
    "time.sleep(60)": -signal.SIGPROF,  # takes no processor time
    "watchdog.stop(); time.sleep(4)": 0,
    "import pdb; time.sleep(4)": 0,
    "os.kill(os.getpid(), signal.SIGSTOP); watchdog.feed()": 0,
}


@pytest.mark.parametrize("then", CASES)
def test_silent_loop_ends_its_process(then: str) -> None:
    command = [sys.executable, "-c", SCRIPT.format(then=then)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        if "SIGSTOP" in then:
            os.waitpid(process.pid, os.WUNTRACED)
            time.sleep(4)
            process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, "in main\n" in errors) == (CASES[then], CASES[then] != 0)
