"""A short run of `make chaos`, with one fault of each kind of place."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.run import Plan, run_chaos
from tests.chaos.schedule import PlannedFault
from tests.chaos.submissions import VARIANTS

FAULTS = (
    PlannedFault(1.0, "kill-worker", place=0, seconds=0.0),
    PlannedFault(2.0, "silence-postgres", place=1, seconds=1.5),
    PlannedFault(4.0, "flush-redis", place=0, seconds=0.0),
    PlannedFault(5.0, "crash-postgres-backend", place=0, seconds=0.0),
    PlannedFault(7.0, "kill-horse", place=1, seconds=0.0),
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Postgres runs as another account under root, and cannot enter pytest's folders."""
    path = Path(tempfile.mkdtemp(prefix="chaos-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


def test_a_short_run_under_faults_violates_nothing(folder: Path) -> None:
    said: list[str] = []
    plan = Plan(0, 9.0, folder, num_apis=1, num_workers=2, num_clients=4, variants=VARIANTS[:3], faults=FAULTS)

    report = run_chaos(plan, said.append)

    assert report.has_passed, report.to_text()
    assert report.accepted > 0
    assert report.digests["compared"] == report.digests["equal"] > 0
    assert len(report.faults) == len(FAULTS)
    assert report.statuses["succeeded"] >= len(plan.variants)
