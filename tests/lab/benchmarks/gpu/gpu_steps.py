"""Steps that end in every way a step can end. They are in a module, so that the runner's processes find them."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.gpu.runner import Finding, Setting


def succeed(setting: Setting) -> Iterator[Finding]:
    print("not a JSON line")  # noqa: T201
    yield {"device": setting.device, "delta": float("inf")}
    yield {"process": os.getpid()}


def fail(_setting: Setting) -> Iterator[Finding]:
    yield {"before": 1}
    raise RuntimeError("the card fell out")


def hang(setting: Setting) -> Iterator[Finding]:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield {"sleeper": sleeper.pid, "device": setting.device}
    time.sleep(60)


def die(_setting: Setting) -> Iterator[Finding]:
    yield {"before": 1}
    os._exit(9)
