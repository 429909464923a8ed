"""A short run of `make fuzz`, with another seed each time."""

import os
import random
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.run import run_fuzz

SEED = int(os.environ.get("FUZZ_SEED") or random.randrange(10**6))


def test_random_requests_find_no_fault() -> None:
    with TemporaryDirectory(prefix="fuzz-") as name:
        Path(name).chmod(0o711)  # Postgres runs as another account under root
        report = run_fuzz(Path(name), num_examples=3, seed=SEED)
    assert report.faults == [], f"FUZZ_SEED={SEED} repeats this run\n{report.output}"
    assert report.answers["POST /selections 202"] > 0
    assert report.answers["POST /prompts/{name}/classify 200"] > 0
    assert report.answers["POST /prompts/{name}/examples 200"] > 0
    assert report.answers["POST /prompts/{name}/render 200"] > 0
