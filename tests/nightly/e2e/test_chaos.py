"""A short run of `make chaos`, with a fault of each kind of place."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.config import Plan, PlannedFault
from tests.chaos.run import run_chaos

FAULTS = (
    PlannedFault(1.0, "kill-worker", place=0, seconds=0.0),
    PlannedFault(2.0, "silence-postgres", place=1, seconds=1.5),
    PlannedFault(4.0, "flush-redis", place=0, seconds=0.0),
    PlannedFault(5.0, "crash-postgres-backend", place=0, seconds=0.0),
    # Several, because a worker may be between two selections when one comes.
    *(PlannedFault(at, "kill-horse", place=1, seconds=0.0) for at in (3.0, 3.5, 6.5)),
    *(PlannedFault(at, "kill-horse", place=0, seconds=0.0) for at in (6.0, 7.0, 7.5)),
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Postgres runs as another account under root, and cannot enter pytest's folders."""
    path = Path(tempfile.mkdtemp(prefix="chaos-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


def test_a_short_run_under_faults_violates_nothing(folder: Path) -> None:
    faults = tuple(sorted(FAULTS, key=lambda one: one.at))
    plan = Plan(0, 9.0, folder, num_apis=1, num_workers=2, num_clients=4, num_variants=3, faults=faults)

    report = run_chaos(plan, print)

    assert report.has_passed, str(report)
    assert {one.fault.kind for one in report.faults if one.skipped is None} == {one.kind for one in FAULTS}
    assert report.tables["Accepted jobs"]["kept"] > 0
    assert report.tables["Digests compared"]["with the undisturbed run"] > 0
