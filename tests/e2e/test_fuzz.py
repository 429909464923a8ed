"""A short run of `make fuzz`, with another seed each time."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz.run import Plan, run_fuzz

SEED = int(os.environ.get("FUZZ_SEED") or random.randrange(10**6))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of a short name, for sockets."""
    with TemporaryDirectory(prefix="fuzz-") as name:
        Path(name).chmod(0o711)  # Postgres runs as another account under root
        yield Path(name)


def test_random_requests_find_no_fault(folder: Path) -> None:
    report = run_fuzz(Plan(SEED, 150, folder), print)
    details = "\n\n".join(path.read_text("utf-8", "replace") for path in sorted(folder.glob("failure-*.txt"))[:5])
    assert report.has_passed, f"FUZZ_SEED={SEED} repeats this run\n{report.to_text()}\n\n{details}"
    assert report.accepted > 10
    assert report.requester.num_requests >= 150
