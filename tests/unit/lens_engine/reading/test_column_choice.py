"""Columns of texts and labels are found by name, or by what is in them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lens_engine.errors import InvalidDataset
from lens_engine.reading import ParsingLimits, parse_dataset, parse_inline
from lens_engine.reading.column_choice import choose_columns, find_columns, find_text_column
from lens_engine.reading.column_profiles import MAX_DISTINCT, ColumnProfile, profile_columns
from lens_engine.reading.columns import WantedColumns, match_header
from lens_engine.reading.dialect import FoundDialect

UTF8 = FoundDialect("utf-8", ",")


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
    message, stars = profile_columns(write(tmp_path / "rows", kind), UTF8)
    assert (message.name, message.num_values, message.num_distinct, message.mean_characters) == ("Message", 9, 9, 7)
    assert (stars.name, stars.num_values, stars.distinct) == ("stars", 9, {"0", "1", "2"})


@pytest.mark.parametrize("place", [slice(4, 404), slice(-408, -8)], ids=["pages", "schema"])
def test_damaged_file_is_not_one_without_texts(tmp_path: Path, place: slice) -> None:
    path = tmp_path / "rows"
    pq.write_table(pa.table({"note": [f"some words {n}" for n in range(5000)]}), path)
    content = bytearray(path.read_bytes())
    content[place] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(InvalidDataset, match="the Parquet file is damaged"):
        find_text_column(path, None, None, UTF8)


def test_lines_that_are_no_objects_are_not_a_file_without_texts(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("{'note': 'Sunny'}\n" * 3)
    with pytest.raises(InvalidDataset, match="no line of the file is a JSON object"):
        find_text_column(tmp_path / "rows", None, None, UTF8)


def test_distinct_values_are_not_counted_without_bound() -> None:
    found = profile("id", list(range(2 * MAX_DISTINCT)))
    assert found.num_distinct is None
    assert len(found.distinct) == MAX_DISTINCT + 1


def test_columns_without_readable_values_are_named_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "weight": [1.5]}), tmp_path / "rows")
    assert [(one.name, one.num_values) for one in profile_columns(tmp_path / "rows", UTF8)] == [
        ("text", 1),
        ("weight", 0),
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [("Kommentar", "Kategorie"), ("Avis", "Catégorie"), ("comentario", "Etiqueta"), ("Testo", "etichetta")],
)
def test_usual_names_of_other_languages_are_found(text: str, label: str) -> None:
    hotels = profile("Hotel", ["a", "b", "c"] * 4)
    choice = choose_columns([hotels, profile(text, ["a", "b"] * 6), profile(label, ["x", "y", "z", "v"] * 3)])
    assert (choice.text.name, choice.label.name) == (text, label)


def test_spellings_of_a_label_count_once() -> None:
    kinds = profile("sort", ["a", "A ", "b", " B"] * 2)
    assert kinds.num_distinct == 2
    assert choose_columns([profile("shop", list("abcd") * 2), kinds, TEXTS]).label.name == "sort"


def test_named_columns_are_taken_without_a_look_at_the_rows(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("text,label,other\na,x,1\nb,y,2\n")
    choice = find_columns(tmp_path / "rows", None, None, UTF8)
    assert (choice.text.name, choice.label.name, choice.notes()) == ("text", "label", [])


def test_columns_that_were_found_are_said(tmp_path: Path) -> None:
    choice = find_columns(write(tmp_path / "rows", "csv"), None, None, UTF8)
    assert choice.notes() == [
        "column 'Message' is read as the texts: a usual name",
        "column 'stars' is read as the labels: few distinct values: 3 in 9 rows",
    ]


def test_labels_that_could_be_in_two_columns_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"some words {number},{number % 3},{number % 2}\n" for number in range(12))
    (tmp_path / "rows").write_text("note,sort,shop\n" + rows)
    with pytest.raises(InvalidDataset, match=r"labels: 'shop', 'sort'; name the column to read \(label_column\)"):
        find_columns(tmp_path / "rows", None, None, UTF8)
    assert find_columns(tmp_path / "rows", None, "sort", UTF8).label.name == "sort"


@pytest.mark.parametrize(
    ("given", "usual", "found"), [(None, None, "Message"), (None, "stars", "stars"), ("other", None, "other")]
)
def test_texts_without_labels_are_found(tmp_path: Path, given: str | None, usual: str | None, found: str) -> None:
    assert find_text_column(write(tmp_path / "rows", "csv"), given, usual, UTF8).name == found


def test_row_in_place_of_the_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "headless.csv"
    path.write_text("a fine film,good\na dull film,bad\na good one,good\na bad one,bad\nfine,good\n")
    with pytest.raises(InvalidDataset, match="looks like a row, not like a header: 'good' is one of the labels"):
        find_columns(path, None, None, UTF8)


def test_usual_names_are_enough_to_parse_a_file_or_objects(tmp_path: Path) -> None:
    rows = [{"Label": "x", "id": 1}, *({"Label": "x", "id": 2, "review": f"text {number}"} for number in range(12))]
    path = tmp_path / "reviews"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in [{**rows[0], "review": None}, *rows[1:]]))
    for parsed in (parse_dataset(path, ParsingLimits()), parse_inline(rows[1:], ParsingLimits())):
        assert parsed.columns == ("review", "Label")
        assert {example.text for example in parsed.examples} == {f"text {number}" for number in range(12)}
        assert parsed.warnings[:2] == (
            "column 'review' is read as the texts: a usual name",
            "column 'Label' is read as the labels: named label but for case and spaces",
        )


def test_dates_are_no_labels(tmp_path: Path) -> None:
    rows = "".join(f"2026-11-0{row % 3 + 1},a rather long message of its own {row}\n" for row in range(12))
    (tmp_path / "new.csv").write_text(f"day,message\n{rows}")
    with pytest.raises(InvalidDataset, match="no column looks like labels"):
        find_columns(tmp_path / "new.csv", None, None, UTF8)


@pytest.mark.parametrize("given", ["message", "catégorie", "CATEGORIE "])
def test_column_that_is_nearly_named_is_proposed(given: str) -> None:
    profiles = [profile("Message", ["a"]), profile("Categorie", ["b"])]
    meant = "Message" if given == "message" else "Categorie"
    with pytest.raises(InvalidDataset, match=f"did you mean '{meant}'?"):
        choose_columns(profiles, given, None)
    with pytest.raises(InvalidDataset, match=rf"name '{meant}' \(text_column, label_column\)"):
        match_header(["Message", "Categorie", "text"], WantedColumns("text", given), "dataset")
