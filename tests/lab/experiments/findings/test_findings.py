import csv
import io
from pathlib import Path

import pytest

from lab.experiments.findings.finding import Finding, Table
from lab.experiments.findings.writing import write

TABLE = Table(("method", "accuracy", "n"), (("a|b", 0.12345, 1000), ("c", None, 2)), caption="What it shows.")
FINDING = Finding("study", "A study", (TABLE, Table(("x",), ((1,),), name="more")), notes=("First.", "Second."))


def test_csv_keeps_every_digit() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [["method", "accuracy", "n"], ["a|b", "0.12345", "1000"], ["c", "", "2"]]


def test_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="2 values for the 1 columns"):
        Table(("one",), ((1, 2),))


def test_finding_becomes_a_page_and_a_csv_for_each_table(tmp_path: Path) -> None:
    written = write(FINDING, tmp_path / "new" / "folder")

    assert [path.name for path in written] == ["study.md", "study.csv", "study-more.csv"]
    assert written[0].read_text("utf-8") == (
        "# A study\n\nFirst.\n\nSecond.\n\nWhat it shows.\n\n| method | accuracy | n |\n| --- | --- | --- |\n"
        "| a\\|b | 0.123 | 1,000 |\n| c | – | 2 |\n\n| x |\n| --- |\n| 1 |\n"
    )
    assert written[2].read_text("utf-8") == "x\n1\n"
