"""The curl lines of the README, run as they stand there."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.stack import Stack

ROOT = Path(__file__).parents[2]


def read_curl_lines(url: str) -> str:
    blocks = re.findall(r"^```bash\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (block,) = (block for block in blocks if block.startswith("LENS="))
    return re.sub(r"^LENS=.*$", f"LENS={url}", block, count=1, flags=re.MULTILINE)


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="needs curl and bash")
def test_curl_lines_of_the_readme_lead_from_a_dataset_to_a_prompt(lens: Stack) -> None:
    lens.start_worker()
    lines = read_curl_lines(str(lens.client.base_url).rstrip("/"))

    shell = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )

    assert shell.returncode == 0, shell.stderr
    decoder, answers, rest = json.JSONDecoder(), [], shell.stdout
    while rest:
        answer, end = decoder.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].lstrip()
    selection, result, rendered = answers
    assert selection["status"] == "succeeded"
    assert len(result["examples"]) == 8
    assert rendered["prompt"].endswith("\nI was charged twice for the same order Topic:")
