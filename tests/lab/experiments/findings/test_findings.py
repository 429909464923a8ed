import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from experiments.findings.finding import Finding, Plot, Table, as_sentence
from experiments.findings.writing import render_page, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = Table(("method", "accuracy", "n"), (("a|b", 0.12345, 1000), ("c", None, 2)), caption="What it shows.")


def draw_line(figure: "Figure") -> None:
    axes = figure.subplots()
    axes.plot([1, 2], [3, 4], label="a line")
    axes.set_title("A title that is text")
    axes.legend()


FINDING = Finding(
    "study",
    "A study",
    (TABLE, Table(("x",), ((1,),), name="more")),
    (Plot(draw_line, "A line that rises"), Plot(draw_line, "Another", name="other", size=(3.0, 2.0))),
    notes=("First paragraph.", "Second."),
)


def test_table_is_shown_as_markdown() -> None:
    assert TABLE.markdown() == (
        "What it shows.\n\n| method | accuracy | n |\n| --- | --- | --- |\n| a\\|b | 0.123 | 1,000 |\n| c | – | 2 |\n"
    )


def test_csv_keeps_every_digit() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [["method", "accuracy", "n"], ["a|b", "0.12345", "1000"], ["c", "", "2"]]


def test_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="2 values for the 1 columns"):
        Table(("one",), ((1, 2),))


def test_page_has_notes_pictures_and_tables_in_this_order() -> None:
    page = render_page(FINDING)
    parts = [
        "# A study",
        "First paragraph.",
        "Second.",
        "![A line that rises](study.svg)",
        "![Another](study-other.svg)",
    ]
    parts += ["What it shows.", "| x |"]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert page.endswith("|\n")


def test_finding_becomes_a_page_a_csv_for_each_table_and_a_picture_for_each_plot(tmp_path: Path) -> None:
    written = write(FINDING, tmp_path / "new" / "folder")
    names = ["study.md", "study.csv", "study-more.csv", "study.svg", "study-other.svg"]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == sorted(names)
    links = re.findall(r"\]\((.*?)\)", written[0].read_text("utf-8"))
    assert all((written[0].parent / link).exists() for link in links)


def test_same_finding_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write(FINDING, tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_text_of_a_picture_stays_text(tmp_path: Path) -> None:
    write(FINDING, tmp_path)
    assert "A title that is text" in (tmp_path / "study.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("title", "sentence"), [("Is it?", "Is it?"), ("Is it?\nsst-2, 1 seed", "Is it? sst-2, 1 seed.")]
)
def test_title_becomes_a_sentence(title: str, sentence: str) -> None:
    assert as_sentence(title) == sentence
