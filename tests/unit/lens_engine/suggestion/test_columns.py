"""Columns of texts and labels are found by name, or by what is in them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import MAX_DISTINCT, ColumnProfile, profile_columns
from lens_engine.suggestion.columns import choose_columns


def profile(name: str, values: Sequence[object]) -> ColumnProfile:
    found = ColumnProfile(name)
    for value in values:
        found.add(value)
    return found


TEXTS = profile("note", [f"a rather long text of its own, number {number}" for number in range(12)])
KINDS = profile("sort", ["a", "b", "c"] * 4)
IDS = profile("id", list(range(12)))


@pytest.mark.parametrize(
    ("names", "text", "label"),
    [
        (("label", "text"), "text", "label"),
        (("Text", "text", "label", "Label"), "text", "label"),
        (("id", " TEXT", "Label"), " TEXT", "Label"),
        (("message", "Category", "class"), "message", "class"),
    ],
)
def test_usual_names_are_found(names: Sequence[str], text: str, label: str) -> None:
    choice = choose_columns([profile(name, ["a", "b"]) for name in names])
    assert (choice.text.name, choice.label.name) == (text, label)
    assert set(choice.others) == set(names) - {text, label}


def test_column_of_another_case_says_why() -> None:
    choice = choose_columns([profile("Text", ["a"]), profile("label", ["b"])])
    assert choice.text.reason == "named text but for case and spaces"
    assert choice.label.reason == "named exactly so"


def test_unusual_names_are_chosen_by_content_with_the_reason() -> None:
    choice = choose_columns([IDS, KINDS, TEXTS])
    assert (choice.text.name, choice.label.name, choice.others) == ("note", "sort", ("id",))
    assert choice.text.reason == "the longest values, 39 characters on average"
    assert choice.label.reason == "few distinct values: 3 in 12 rows"


def test_column_with_fewer_values_wins_and_the_other_is_mentioned() -> None:
    choice = choose_columns([profile("channel", list("abcdef") * 2), KINDS, TEXTS])
    assert choice.label.name == "sort"
    assert choice.possible_labels == ("channel",)


def test_named_columns_are_kept() -> None:
    choice = choose_columns([profile("text", ["a"]), profile("label", ["b"]), KINDS, TEXTS], "note", "sort")
    assert (choice.text.name, choice.label.name) == ("note", "sort")
    assert choice.label.reason == "you named it"


def test_column_named_as_text_is_not_the_label() -> None:
    assert choose_columns([TEXTS, profile("label", ["b"] * 4), KINDS], text="label").label.name == "sort"


def test_missing_column_is_refused_with_those_found() -> None:
    with pytest.raises(InvalidDataset, match="no column 'nope'; columns found: 'note', 'sort'"):
        choose_columns([TEXTS, KINDS], text="nope")


@pytest.mark.parametrize("values", [["a"] * 12, list(range(12)), [1.5, 2.5] * 6])
def test_table_without_labels_is_refused(values: list[object]) -> None:
    with pytest.raises(InvalidDataset, match="no column looks like labels"):
        choose_columns([TEXTS, profile("other", values)])


ROWS = [{"Message": f"words {number}", "stars": number % 3} for number in range(9)]


def write(path: Path, kind: str) -> Path:
    if kind == "csv":
        path.write_text("Message,stars\n\n" + "".join(f"{row['Message']},{row['stars']}\n" for row in ROWS))
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, ROWS)) + "\n{broken\n")
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_every_format_has_the_same_profiles(tmp_path: Path, kind: str) -> None:
    message, stars = profile_columns(write(tmp_path / "rows", kind))
    assert (message.name, message.num_values, message.num_distinct, message.mean_characters) == ("Message", 9, 9, 7)
    assert (stars.name, stars.num_values, stars.distinct) == ("stars", 9, {"0", "1", "2"})


def test_distinct_values_are_not_counted_without_bound() -> None:
    found = profile("id", list(range(2 * MAX_DISTINCT)))
    assert found.num_distinct is None
    assert len(found.distinct) == MAX_DISTINCT + 1


def test_columns_without_readable_values_are_named_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "weight": [1.5]}), tmp_path / "rows")
    assert [(one.name, one.num_values) for one in profile_columns(tmp_path / "rows")] == [("text", 1), ("weight", 0)]


def test_file_with_another_separator_is_told_as_the_reader_does() -> None:
    with pytest.raises(InvalidDataset, match="looks like semicolon-separated: save it with commas"):
        choose_columns([ColumnProfile("ID;Text;Label", num_values=9)])
