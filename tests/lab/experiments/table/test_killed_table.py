"""`kill -9` in the middle of a table, more than once: nothing that was finished is computed again."""

import subprocess
import sys
import time
from pathlib import Path

from tests.lab.experiments.table.table_child import main, make_plan

ROOT = Path(__file__).parents[4]
SECONDS = 60.0


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tests.lab.experiments.table.table_child", str(folder)], cwd=ROOT)


def count_cells(folder: Path) -> int:
    return len(list(folder.glob("store/cells/*.json")))


def kill_at(folder: Path, cells: int) -> None:
    """Kill the process once this number of cells is finished and the next is under way."""
    child = start(folder)
    deadline = time.monotonic() + SECONDS
    try:
        while count_cells(folder) < cells or not list(folder.glob("store/running/*")):
            assert child.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline, "it took too long"
            time.sleep(0.002)
    finally:
        child.kill()
        child.wait(SECONDS)


def test_killed_table_is_finished_by_the_same_command(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
    finished = dict[Path, bytes]()
    for cells in (1, 4):
        kill_at(killed, cells)
        cells_now = {path: path.read_bytes() for path in killed.glob("store/cells/*.json")}
        assert finished.items() <= cells_now.items()
        finished = cells_now
    assert 4 <= len(finished) < len(make_plan().cells())
    assert start(killed).wait(SECONDS) == 0
    main(whole)

    assert count_cells(killed) == count_cells(whole)
    assert {path: path.read_bytes() for path in finished} == finished
    computed = (killed / "journal").read_text().splitlines()
    assert len(computed) == len(set(computed))
    for name in ("table.md", "table.csv"):
        assert (killed / "output" / name).read_bytes() == (whole / "output" / name).read_bytes()
    assert list((killed / "store/running").iterdir()) == []
