"""The curl lines and Python of docs/api.md lead from a dataset to a prompt."""

import subprocess
import sys
from pathlib import Path

from lens_engine.classifier.classifier import Classifier
from tests.e2e.stack import Stack
from tests.e2e.test_readme import NEEDS_CURL, find_block, read_answers, read_block, read_curl_lines, run, url_of


@NEEDS_CURL
def test_curl_lines_of_the_api_page_lead_from_a_dataset_to_a_prompt(lens: Stack, tmp_path: Path) -> None:
    lens.warm_worker()

    parts = ("/prompts/support-triage/render", "$LENS/datasets")
    blocks = [find_block("docs/api.md", "bash", part) for part in parts]
    shell = run(tmp_path, "bash", "-euo", "pipefail", "-c", "".join([read_curl_lines(lens), *blocks]))

    assert shell.returncode == 0, shell.stderr
    selection, result, rendered, version, named, dataset = read_answers(shell.stdout)
    assert shell.stdout.count("\n") == 6  # each answer on a line of its own
    assert dataset["rows"] == 480
    check_client(lens, tmp_path)
    assert (version["version"], version["note"]) == (1, "first")
    assert named["prompts"][0]["prompt"].endswith("I was charged twice Topic:")
    assert selection["status"] == "succeeded"
    assert (result["method"], result["examples"]) == ("zero_shot", [])  # examples change no answer of the double
    assert rendered["prompts"][0]["prompt"].endswith("I was charged twice for the same order Topic:")
    assert Classifier.load(tmp_path / "classifier.json").labels == ("billing", "delivery", "account", "technical")


def check_client(lens: Stack, folder: Path) -> None:
    """The Python of the API page, for the names and examples that are there now."""
    python = read_block("docs/api.md", "python", "lens.datasets.store", url_of(lens))
    command = [sys.executable, "-c", python]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert " rows\n" in done.stdout
    assert done.stdout.endswith("404 not-found\n")
