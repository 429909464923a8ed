"""`lens up`: everything comes up, a client is served, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.dispositions import default_signals
from tests.e2e.processes import ROOT, is_gone, status_at
from tests.e2e.waiting import until
from tests.ports import reserve_port
from tests.tiny_models import tiny_causal_lm


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty at first; each `lens up` starts over what the one before left, a killed one too."""
    return tmp_path_factory.mktemp("up") / "data"


@pytest.fixture
def up(data_dir: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """Started with the signals that a test asks for, as a shell does under nohup, or with their defaults."""
    with getattr(request, "param", default_signals)():
        process = start_up(data_dir)
    with process:
        yield process
        process.kill()


def start_up(data_dir: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    port = str(reserve_port())
    arguments = [sys.executable, "-m", "lens_cli", "up", "--data-dir", str(data_dir), "--port", port, *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        arguments, cwd=ROOT, text=True, env={**os.environ, "COLUMNS": "200", **environment}, **pipes
    )


def wait_for_address(up: subprocess.Popen[str]) -> str:
    assert up.stdout is not None
    for line in up.stdout:
        if line.startswith("Open http"):
            return line.split()[1]
    raise AssertionError(up.stderr.read() if up.stderr else "")


def children_of(up: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(up.pid).children(recursive=True)


def check_stop(up: subprocess.Popen[str], children: list[psutil.Process]) -> None:
    printed, errors = up.communicate(timeout=60)
    assert (up.returncode, errors) == (0, "")
    assert printed.endswith("Stopped.\n")
    assert all(is_gone(child) for child in children)


def test_up_starts_a_worker_and_what_answers_again_and_ends_with_a_store(up: subprocess.Popen[str]) -> None:
    url = wait_for_address(up)
    redis, worker = find_child(up, "redis-server"), find_child(up, "-m worker")
    until(lambda: httpx.get(f"{url}/readyz").json()["checks"]["workers"] == "ok", "a worker is up", seconds=90)
    answers = int(find_child(up, "lens_cli serve").environ()["LENS_ANSWERS_ADDRESSES"].rpartition(":")[2])
    until(lambda: status_at(answers, "/healthz") == 200, "the process that answers at once is up", seconds=90)
    time.sleep(3)  # `lens up` looks twice a second, and ends where a process ends before it saw it up
    find_child(up, "-m worker.answering").kill()
    assert "was killed by SIGKILL" in wait_for_line(up, "The answering process ")
    until(lambda: status_at(answers, "/healthz") == 200, "it answers again", seconds=90)
    assert httpx.get(f"{url}/readyz").status_code == 200
    worker.kill()
    said = wait_for_line(up, "The worker ")
    assert "was killed by SIGKILL, usually by the system, because memory ran out. It starts again in 1 s." in said
    assert find_child(up, "-m worker").pid != worker.pid
    assert redis.is_running()

    children = children_of(up)
    redis.kill()
    _, errors = up.communicate(timeout=60)
    assert up.returncode == 1
    assert "Redis was killed by SIGKILL" in errors
    assert all(is_gone(child) for child in children)


HANG = """
import re, signal, sys
if "serve" in sys.orig_argv:
    signal.signal(signal.SIGUSR2, lambda *_: re.match("(a+)+b", "a" * 64))  # in the thread of the event loop
"""


def test_up_starts_an_api_again_that_answers_no_more(data_dir: Path, tmp_path: Path) -> None:
    """And offers the model that it is given, until its terminal is closed."""
    (tmp_path / "sitecustomize.py").write_text(HANG)
    folder = tiny_causal_lm("gpt2").save(tmp_path / "our-model")
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "LENS_SILENT_SECONDS": "2"}
    with start_up(data_dir, "--model", str(folder), **environment) as up:
        try:
            url, silent = wait_for_address(up), find_child(up, "lens_cli serve")
            silent.send_signal(signal.SIGUSR2)
            wait_for_line(up, "The API ended with exit code 1")
            assert find_child(up, "lens_cli serve").pid != silent.pid
            until(lambda: status_at(int(url.rpartition(":")[2]), "/readyz") == 200, "the next API answers")
            models = httpx.get(f"{url}/models").json()["items"]
            children = psutil.Process(up.pid).children()  # not theirs: a worker looks at its device in a child
            of_children = [child.environ().get("LENS_ALLOWED_MODELS") for child in children]
            up.send_signal(signal.SIGHUP)
            check_stop(up, children)
        finally:
            up.kill()
    assert models == [{"name": "our-model", "is_default": True}]
    assert of_children.count(json.dumps({"our-model": str(folder)})) == 3  # API, worker, answers


def find_child(up: subprocess.Popen[str], words: str) -> psutil.Process:
    """The child of `lens up` that has the words in its command, once there is one."""

    def find() -> psutil.Process | None:
        children = [child for child in psutil.Process(up.pid).children() if not is_gone(child)]
        return next((child for child in children if f"{words} " in " ".join([*child.cmdline(), ""])), None)

    return until(find, f"there is {words}")


def wait_for_line(up: subprocess.Popen[str], beginning: str) -> str:
    assert up.stdout is not None
    return next(line for line in up.stdout if line.startswith(beginning))
