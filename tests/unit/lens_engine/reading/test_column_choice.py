"""Columns of texts and labels are found by name, or by what is in them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lens_engine.errors import InvalidDataset
from lens_engine.reading import Named, ParsedDataset, ParsingLimits, parse_dataset, parse_inline, read_texts
from lens_engine.reading.choice import ChosenColumn, choose_columns
from lens_engine.reading.column_profiles import MAX_DISTINCT, ColumnProfile, Look
from lens_engine.reading.columns import has_header
from lens_engine.reading.shapes import open_table
from lens_engine.reading.table import show_value

OWN = ParsingLimits.of_own_files()


def profile(name: str, values: Sequence[object]) -> ColumnProfile:
    found = ColumnProfile(name)
    for value in values:
        found.add(show_value(value))
    return found


TEXTS = profile("note", [f"a rather long text of its own, number {number}" for number in range(12)])
KINDS = profile("sort", ["a", "b", "c"] * 4)
IDS = profile("id", list(range(12)))


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


def choose(*profiles: ColumnProfile) -> tuple[ChosenColumn, ChosenColumn, tuple[str, ...]]:
    found = choose_columns(profiles)
    assert found.label is not None
    return found.text, found.label, found.possible_labels


def profile_file(path: Path) -> list[ColumnProfile]:
    with open_table(path, OWN, "dataset") as table:
        return Look(table).columns


@pytest.mark.parametrize(
    ("names", "text", "label"),
    [
        (("label", "text"), "text", "label"),
        (("Text", "text", "label", "Label"), "text", "label"),
        (("id", " TEXT", "Label"), " TEXT", "Label"),
        (("message", "Category", "class"), "message", "class"),
        (("Utterance", "Speaker", "Emotion", "Season"), "Utterance", "Emotion"),
        (("tweet_id", "airline_sentiment", "tweet"), "tweet", "airline_sentiment"),
    ],
)
def test_usual_names_are_found(names: Sequence[str], text: str, label: str) -> None:
    found = choose(*(profile(name, ["a", "b"]) for name in names))
    assert (found[0].name, found[1].name) == (text, label)


def test_column_of_another_case_says_why() -> None:
    text, label, _ = choose(profile("Text", ["a"]), profile("class", ["b"]))
    assert (text.reason, label.reason) == ("named text but for case and spaces", "a usual name")


def test_unusual_names_are_chosen_by_content_with_the_reason() -> None:
    text, label, _ = choose(IDS, KINDS, TEXTS)
    assert (text.name, label.name) == ("note", "sort")
    assert text.reason == "the longest values, 39 characters on average"
    assert label.reason == "few distinct values: 3 in 12 rows"


def test_texts_without_spaces_are_preferred_to_codes() -> None:
    texts = profile("note", [f"我的包裹还没有到{'一二三四五'[number % 5]}号" for number in range(5)])
    text, _, _ = choose(profile("hash", [f"{number:064x}" for number in range(12)]), KINDS, texts)
    assert text.name == "note"


def test_column_with_fewer_values_wins_and_the_other_is_mentioned() -> None:
    _, label, possible = choose(profile("channel", list("abcdef") * 2), KINDS, TEXTS)
    assert (label.name, label.is_guessed, possible) == ("sort", True, ("channel",))


@pytest.mark.parametrize("other", [profile("count", [1, 2] * 6), profile("Speaker", ["Ann", "Bob"] * 6)])
def test_words_are_preferred_to_numbers_and_to_names_of_other_things(other: ColumnProfile) -> None:
    _, label, possible = choose(other, KINDS, TEXTS)
    assert (label.name, label.is_guessed, possible) == ("sort", False, (other.name,))


def test_usual_name_of_what_cannot_be_labels_is_passed_over() -> None:
    _, label, _ = choose(profile("type", ["post"] * 12), KINDS, TEXTS)
    assert label.name == "sort"


@pytest.mark.parametrize("values", [["a"] * 12, list(range(12)), [1.5, 2.5] * 6])
def test_table_without_labels_is_refused(values: list[object]) -> None:
    with pytest.raises(InvalidDataset, match="no column looks like labels"):
        choose(TEXTS, profile("other", values))


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
    message, stars = profile_file(write(tmp_path / "rows", kind))
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
        read_texts(path, OWN)


def test_lines_that_are_no_objects_are_not_a_file_without_texts(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("{'note': 'Sunny'}\n" * 3)
    with pytest.raises(InvalidDataset, match="the file is not valid JSON: Expecting property name"):
        read_texts(tmp_path / "rows", OWN)


def test_distinct_values_are_not_counted_without_bound() -> None:
    found = profile("id", list(range(2 * MAX_DISTINCT)))
    assert found.num_distinct is None
    assert len(found.distinct) == MAX_DISTINCT + 1


def test_columns_without_readable_values_are_named_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "weight": [1.5]}), tmp_path / "rows")
    assert [(one.name, one.num_values) for one in profile_file(tmp_path / "rows")] == [("text", 1), ("weight", 0)]


@pytest.mark.parametrize(
    ("text", "label"),
    [("Kommentar", "Kategorie"), ("Avis", "Catégorie"), ("comentario", "Etiqueta"), ("Testo", "etichetta")],
)
def test_usual_names_of_other_languages_are_found(text: str, label: str) -> None:
    hotels = profile("Hotel", ["a", "b", "c"] * 4)
    found = choose(hotels, profile(text, ["a", "b"] * 6), profile(label, ["x", "y", "z", "v"] * 3))
    assert (found[0].name, found[1].name) == (text, label)


def test_spellings_of_a_label_count_once() -> None:
    kinds = profile("sort", ["a", "A ", "b", " B", "Ａ", "b\u200b"] * 2)
    assert kinds.num_distinct == 2
    assert choose(profile("shop", list("abcd") * 2), kinds, TEXTS)[1].name == "sort"


def parse(path: Path, *named: str | None) -> ParsedDataset:
    return parse_dataset(path, OWN, columns=Named(*named))


def test_columns_that_were_found_are_said(tmp_path: Path) -> None:
    found = parse(write(tmp_path / "rows", "csv"))
    assert found.warnings[0] == "read texts from 'Message' (a usual name), labels from 'stars' (a usual name)"


def test_labels_that_could_be_in_two_columns_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"some words {number},{'abc'[number % 3]},{'xy'[number % 2]}\n" for number in range(12))
    (tmp_path / "rows").write_text("note,sort,shop\n" + rows)
    with pytest.raises(InvalidDataset, match=r"labels: 'sort', 'shop'; name the column to read \(label_column\)"):
        parse(tmp_path / "rows")
    assert parse(tmp_path / "rows", None, "sort").columns == ("note", "sort")


@pytest.mark.parametrize(
    ("given", "usual", "found"), [(None, None, "Message"), (None, "stars", "stars"), ("stars", None, "stars")]
)
def test_texts_without_labels_are_found(tmp_path: Path, given: str | None, usual: str | None, found: str) -> None:
    path = write(tmp_path / "rows", "csv")
    assert read_texts(path, OWN, columns=Named(given, usual_text=usual)).text_column == found


def test_usual_names_are_enough_to_parse_a_file_or_objects(tmp_path: Path) -> None:
    rows = [{"Label": "x", "id": 1}, *({"Label": "x", "id": 2, "review": f"text {number}"} for number in range(12))]
    path = tmp_path / "reviews"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in [{**rows[0], "review": None}, *rows[1:]]))
    for parsed in (parse_dataset(path, ParsingLimits()), parse_inline(rows[1:], ParsingLimits())):
        assert parsed.columns == ("review", "Label")
        assert {example.text for example in parsed.examples} == {f"text {number}" for number in range(12)}
        assert parsed.warnings[0] == (
            "read texts from 'review' (a usual name), labels from 'Label' (named label but for case and spaces)"
        )


def test_dates_are_no_labels(tmp_path: Path) -> None:
    rows = "".join(f"2026-11-0{row % 3 + 1},a rather long message of its own {row}\n" for row in range(12))
    (tmp_path / "new.csv").write_text(f"day,message\n{rows}")
    with pytest.raises(InvalidDataset, match="no column looks like labels"):
        parse(tmp_path / "new.csv")


def test_names_of_splits_are_no_labels(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text(
        "".join(f"{n}\tsome words {n}\t{('Train', 'dev')[n % 2]}\t{n % 3}\n" for n in range(20))
    )
    assert parse(tmp_path / "rows").columns == ("column 2", "column 4")


def test_second_column_of_texts_is_said_and_joined_where_a_guess_is_wanted(tmp_path: Path) -> None:
    rows = [{"premise": f"one text of {n}", "hypothesis": f"one more of {n}", "label": "ab"[n % 2]} for n in range(20)]
    (tmp_path / "rows").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = parse(tmp_path / "rows")
    assert found.columns == ("premise", "label")
    told = "'hypothesis' holds texts too; to join 'premise', 'hypothesis', name all of them (text_column)"
    assert told in found.warnings
    found = parse_dataset(tmp_path / "rows", OWN, columns=Named(may_guess=True))
    assert found.columns == (("premise", "hypothesis"), "label")
    assert found.examples[0].text == "one text of 0\none more of 0"
    assert told not in found.warnings


@pytest.mark.parametrize("name", ["label_text", "labelText", "category_name", "what it is"])
def test_words_beside_numbers_of_labels_are_the_labels(tmp_path: Path, name: str) -> None:
    rows = [{"text": f"text {n}", "label": n % 3, "part": f"part {n % 3 > 0}", name: "abc"[n % 3]} for n in range(12)]
    (tmp_path / "rows").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert parse(tmp_path / "rows").columns == ("text", name)
    assert parse(tmp_path / "rows", None, "label").columns == ("text", "label")
    rows[0][name] = "c"  # no longer one word for each number
    (tmp_path / "rows").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert parse(tmp_path / "rows").columns == ("text", "label")


@pytest.mark.parametrize("given", ["message", "catégorie", "CATEGORIE "])
def test_column_that_differs_in_case_and_accents_is_meant(tmp_path: Path, given: str) -> None:
    (tmp_path / "rows").write_text("Message,Categorie,x\na,b,c\nd,e,f\n")
    meant = "Message" if given == "message" else "Categorie"
    assert parse(tmp_path / "rows", "x", given).columns == ("x", meant)
