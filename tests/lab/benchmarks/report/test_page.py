"""What the benchmarks write into a page."""

from pathlib import Path

import pytest

from lab.benchmarks.report.tables import write_section


def test_section_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin one -->\nold\n<!-- end one -->\nafter\n<!-- begin two -->\n<!-- end two -->\n")
    write_section("one", r"new \1 text", page)
    write_section("one", r"new \1 text", page)
    expected = "<!-- begin one -->\n\nnew \\1 text\n\n<!-- end one -->"
    assert page.read_text() == f"before\n{expected}\nafter\n<!-- begin two -->\n<!-- end two -->\n"


def test_section_without_markers_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing here")
    with pytest.raises(ValueError, match=r"page\.md has no section <!-- begin one -->"):
        write_section("one", "text", page)
