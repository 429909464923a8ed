import json
from pathlib import Path

import pytest

from benchmarks.study_output import write_study

MEASURED = {"rows": 3}


def test_study_leaves_its_numbers_its_machine_and_its_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- begin memory -->\n<!-- end memory -->\n\nEnd.\n")

    write_study("memory", MEASURED, "three rows", tmp_path / "results", page)

    written = json.loads((tmp_path / "results/memory.json").read_text())
    assert written["rows"] == 3
    assert written["machine"]["threads"] >= 1
    assert "three rows" in page.read_text()
    assert page.read_text().endswith("End.\n")


def test_numbers_are_kept_when_the_page_has_no_place_for_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n")

    with pytest.raises(ValueError, match="memory"):
        write_study("memory", MEASURED, "three rows", tmp_path, page)

    assert json.loads((tmp_path / "memory.json").read_text())["rows"] == 3
