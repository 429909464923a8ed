"""The commands and the Python of docs/tutorial.md, run as they stand there, in the order of the page.

What stands in for what is slow: a tiny random model for the bundled one, of which the cache folder has it as the
converted copy. The service has another port, which is free. Lines that install are not run.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lens_engine.disk import make_once
from lens_engine.model.local.model_files import BUNDLED_MODEL, resolve_model
from tests.e2e.test_readme import ROOT, URL
from tests.e2e.waiting import until
from tests.ports import reserve_port
from tests.tiny_models import tiny_causal_lm

PAGE = (ROOT / "docs/tutorial.md").read_text("utf-8")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def read_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Lens, with the sample."""
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(ROOT / "examples" / "shop_reviews", folder / "examples" / "shop_reviews")
    return folder


@pytest.fixture(scope="module")
def environment(folder: Path) -> Mapping[str, str]:
    """Of a machine with an empty home, and a tiny model for the bundled one."""
    cache, programs = folder / "cache", Path(sys.executable).parent
    revision = resolve_model(BUNDLED_MODEL, cache).revision
    make_once(revision, lambda entry: tiny_causal_lm("llama").save(entry) and None, cache)
    own = {"LENS_CACHE_DIR": str(cache), "XDG_DATA_HOME": str(folder / "data"), "LENS_RETRY_AFTER_SECONDS": "1"}
    return {**os.environ, **own, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "200"}


@pytest.fixture
def service(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The address of the service that the page starts."""
    (command,) = (block for block in read_blocks("bash") if "lens up" in block)
    port, log = reserve_port(), folder / "up.log"
    with log.open("w") as file:
        up = subprocess.Popen(
            ["bash", "-c", f"exec {command.strip()} --port {port}"], cwd=folder, env=environment, stdout=file
        )
    try:
        until(lambda: "Ctrl-C stops everything" in log.read_text() or up.poll() is not None, "the service answers", 120)
        yield f"http://127.0.0.1:{port}"
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(60)


def run(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_of_the_tutorial_lead_from_a_file_to_predictions(folder: Path, environment: Mapping[str, str]) -> None:
    blocks = [block for block in read_blocks("bash") if "pip install" not in block and "lens up" not in block]
    shown = run(["bash", "-euo", "pipefail", "-c", "".join(blocks)], folder, environment)
    for part in ("lens select reviews.csv", "prompt, no examples", "counting words", "always the most frequent label"):
        assert part in shown
    assert "<html" in (folder / "result.html").read_text("utf-8")
    assert len((folder / "predictions.csv").read_text("utf-8-sig").splitlines()) == 1 + 200


def test_python_leads_from_file_to_name_and_back(folder: Path, environment: Mapping[str, str], service: str) -> None:
    for name, copy in (("train.csv", "reviews.csv"), ("test.csv", "later.csv")):  # as the page does
        shutil.copy(folder / "examples" / "shop_reviews" / name, folder / copy)
    shown = run([sys.executable, "-c", "".join(read_blocks("python")).replace(URL, service)], folder, environment)
    assert "The lid does not close. Sentiment:\n" in shown
    assert re.findall(r"^(\d) (.+) 0\.\d+$", shown, re.MULTILINE) == [
        ("5", "word counting is worse"),
        ("4", "None"),
        ("3", "None"),
        ("2", "word counting"),
        ("1", "first"),
    ]
