"""Columns of texts and labels are found by name, or by what is in them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from lens_engine.errors import InvalidDataset
from lens_engine.reading import Named, ParsingLimits, parse_dataset, parse_inline, read_texts
from lens_engine.reading.columns import has_header
from lens_engine.reading.profiles import MAX_DISTINCT, ColumnProfile
from lens_engine.reading.table import ColumnNames

OWN = ParsingLimits.of_own_files()


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        (("comments", "about", "calm"), True),
        (("comments", "billing", "mood"), True),
        (("comments", "billing", "calm"), False),
        (("words of a text", "billing", "calm"), False),
        (("comments", "7", "calm"), False),
        (("words of a text", "words of a label", "calm"), False),
    ],
)
def test_first_line_of_which_one_name_is_a_value_is_a_header(first: tuple[str, ...], is_header: bool) -> None:
    rows = [(f"words, {n}", ("billing", "account")[n % 2], ("calm", "angry", "sad")[n % 3]) for n in range(30)]
    assert has_header(first, rows, ()) is is_header


@pytest.mark.parametrize(
    ("header", "row", "columns", "notes"),
    [
        ("Message,stars", "words {n},{n3}", ("Message", "stars"),
         "read texts from 'Message' (a usual name), labels from 'stars' (a usual name)"),
        ("Text,class", "words {n},{a3}", ("Text", "class"),
         "read texts from 'Text' (named text but for case and spaces), labels from 'class' (a usual name)"),
        ("id,note,sort", "{n},words of a text {n},{a3}", ("note", "sort"),
         "read texts from 'note' (the longest values, 17 characters on average), labels from 'sort' (few distinct "
         "values: 3 in 12 rows)"),
        ("count,sort,note", "{n2},{a3},words of a text {n}", ("note", "sort"), "labels from 'sort'"),
        ("Speaker,sort,note", "{a2},{a3},words of a text {n}", ("note", "sort"), "labels from 'sort'"),
        ("type,sort,note", "post,{a3},words of a text {n}", ("note", "sort"), "labels from 'sort'"),
        ("sort,shop,note", "{a3},{a2},words of a text {n}", ("note", "shop"), "few distinct values: 2 in 12 rows"),
        ("shop,sort,note", "{a3},{spelt},words of a text {n}", ("note", "sort"), "few distinct values: 2 in 12 rows"),
    ],
)  # fmt: skip
def test_columns_are_chosen_with_the_reason(
    tmp_path: Path, header: str, row: str, columns: tuple[str, str], notes: str
) -> None:
    spelt = ("a", "A ", "b", " B", "Ａ", "b\u200b")
    rows = [row.format(n=n, n2=n % 2, n3=n % 3, a2="xy"[n % 2], a3="abc"[n % 3], spelt=spelt[n % 6]) for n in range(12)]
    (tmp_path / "rows").write_text("\n".join([header, *rows]), "utf-8")
    found = parse_dataset(tmp_path / "rows", OWN, columns=Named(may_guess=True))
    assert (found.columns, notes in found.warnings[0]) == (columns, True), found.warnings


def test_distinct_values_are_not_counted_without_bound() -> None:
    found = ColumnProfile("id")
    for value in range(2 * MAX_DISTINCT):
        found.add(str(value))
    assert (len(found.distinct), found.can_be_labels) == (MAX_DISTINCT + 1, False)


@pytest.mark.parametrize(
    ("given", "usual", "found"), [(None, None, "Message"), (None, "stars", "stars"), ("stars", None, "stars")]
)
def test_texts_without_labels_are_found(
    tmp_path: Path, given: str | None, usual: str | None, found: ColumnNames
) -> None:
    (tmp_path / "rows").write_text("Message,stars\nsome words,1\nother words,2\n")
    assert read_texts(tmp_path / "rows", OWN, columns=Named(given, usual_text=usual)).text_column == found


def test_usual_names_are_enough_to_parse_objects() -> None:
    parsed = parse_inline([{"Label": "x", "id": 2, "review": f"text {n}"} for n in range(12)], ParsingLimits())
    assert (parsed.columns, len(parsed.examples)) == (("review", "Label"), 12)


@pytest.mark.parametrize("values", [["post"] * 12, list(range(12)), [1.5, 2.5] * 6])
def test_refusal_shows_the_columns_and_their_first_values(tmp_path: Path, values: Sequence[object]) -> None:
    rows = [{"note": f"some words {n}", "other": value} for n, value in enumerate(values)]
    (tmp_path / "rows").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    told = r"no column looks like labels: .*; columns found: 'note', 'other'"
    with pytest.raises(InvalidDataset, match=told) as refusal:
        parse_dataset(tmp_path / "rows", OWN)
    assert refusal.value.columns == ("note", "other")
    assert [row[0] for row in refusal.value.first_rows] == ["some words 0", "some words 1", "some words 2"]
