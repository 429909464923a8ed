"""The client of the README and the curl lines of the API page, run as they stand there."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stack import Stack

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:8000"
NEEDS_CURL = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("bash") is None, reason="needs curl and bash"
)


def read_block(page: str, language: str, contained: str, url: str) -> str:
    """The one block of a page with this text, for a service at another address."""
    block = find_block(page, language, contained)
    assert URL in block
    return block.replace(URL, url)


def find_block(page: str, language: str, contained: str) -> str:
    """The one block of a page with this text."""
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if contained in block)
    return str(block)


def read_curl_lines(lens: Stack) -> str:
    return read_block("docs/api.md", "bash", "LENS=", url_of(lens))


def read_client(lens: Stack) -> str:
    return read_block("README.md", "python", "LensClient", url_of(lens))


def url_of(lens: Stack) -> str:
    return str(lens.client.base_url).rstrip("/")


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an empty folder with the examples of the repository."""
    (folder / "examples").symlink_to(ROOT / "examples")
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def read_answers(output: str) -> list[Any]:
    decoder, answers, rest = json.JSONDecoder(), [], output
    while rest:
        answer, end = decoder.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].lstrip()
    return answers


def test_client_of_the_readme_leads_from_a_dataset_to_a_prompt(lens: Stack, tmp_path: Path) -> None:
    lens.warm_worker()

    client = run(tmp_path, sys.executable, "-c", read_client(lens))

    assert client.returncode == 0, client.stderr
    assert "of 240 test texts" in client.stdout
    assert client.stdout.endswith("I was charged twice for the same order Topic:\n")  # the prompt of a name
