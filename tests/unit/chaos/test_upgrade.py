"""What an upgrade under load calls a violation, and which sources each release runs."""

import subprocess
from pathlib import Path

import httpx
import pytest

from tests.chaos.history import Violation
from tests.chaos.upgrade.releases import Release, unpack
from tests.chaos.upgrade.report import UpgradeReport
from tests.chaos.upgrade.traffic import UpgradeHistory
from tests.e2e.processes import ROOT


def refusal_of(port: int) -> httpx.ConnectError:
    return httpx.ConnectError("refused", request=httpx.Request("GET", f"http://127.0.0.1:{port}/selections"))


def test_process_that_restarts_may_refuse_connections() -> None:
    history = UpgradeHistory()

    with history.restart_of(8001):
        history.note_silence("poll", refusal_of(8001))

    assert history.violations == []
    assert history.silences == {"ConnectError": 1}


@pytest.mark.parametrize("restarting", [8002, None])
def test_silence_of_any_other_process_is_a_violation(restarting: int | None) -> None:
    history = UpgradeHistory()

    with history.restart_of(restarting or 8001):
        if restarting:
            history.note_silence("poll", refusal_of(8001))
    if not restarting:
        history.note_silence("poll", refusal_of(8001))

    assert [violation.ids for violation in history.violations] == [("8001",)]


def test_release_runs_its_own_sources(tmp_path: Path) -> None:
    is_repository = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, check=False)
    if is_repository.returncode != 0:
        pytest.skip("the sources are in no git repository")
    unpacked = unpack("HEAD", tmp_path / "old")

    Release("old", unpacked, tmp_path, {}).check_sources()
    Release("new", ROOT, tmp_path, {}).check_sources()
    with pytest.raises(RuntimeError, match="imports"):
        Release("missing", tmp_path / "old" / "docs", tmp_path, {"PYTHONPATH": str(ROOT)}).check_sources()


def test_unknown_revision_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"no-such-revision|not a git repository"):
        unpack("no-such-revision", tmp_path / "old")


def test_report_names_each_violation_with_its_ids() -> None:
    report = UpgradeReport("v1", {"Selections": {"accepted": 2}}, [Violation("I1", "is lost", ("sel_1",), 3.0)])

    assert not report.has_passed
    assert report.to_text().splitlines()[-4:] == ["1 VIOLATIONS", "", "I1 at 3.0 s: is lost", "    sel_1"]
