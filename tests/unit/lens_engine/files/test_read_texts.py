"""Texts without labels: every row is kept, the bad ones with what is wrong. What no store keeps is replaced."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from dataset_uploads import write_table

from lens_engine.errors import InvalidDataset
from lens_engine.files import (
    DatasetTooLarge,
    Dialect,
    Named,
    ParsingLimits,
    ReadTexts,
    TextRow,
    parse_dataset,
    parse_inline,
    read_texts,
)
from lens_engine.files.choice import MAX_DISTINCT, ColumnProfile
from lens_engine.files.columns import has_header
from lens_engine.files.table import ColumnNames
from lens_engine.prompt.text_checks import replace_unstorable

LIMITS = ParsingLimits(max_text_characters=20, is_trusted=True)


def as_csv(texts: list[str | None], column: str) -> bytes:
    lines = "".join(f'{row},"{text or ""}"\n' for row, text in enumerate(texts))
    return f"id,{column}\n{lines}".encode()


def as_jsonl(texts: list[str | None], column: str) -> bytes:
    return "".join(json.dumps({"id": row, column: text}) + "\n" for row, text in enumerate(texts)).encode()


def as_parquet(texts: list[str | None], column: str) -> bytes:
    values = pyarrow.array(texts, pyarrow.string())
    return write_table(pyarrow.table({"id": list(range(len(texts))), column: values}))


Writer = Callable[[list[str | None], str], bytes]
every_format = pytest.mark.parametrize("write", [as_csv, as_jsonl, as_parquet])


def read_file(folder: Path, content: bytes, column: str = "text") -> ReadTexts:
    path = folder / "input"
    path.write_bytes(content)
    return read_texts(path, LIMITS, columns=Named(column))


def read(folder: Path, content: bytes, column: str = "text") -> tuple[TextRow, ...]:
    return read_file(folder, content, column).rows


@every_format
@pytest.mark.parametrize("column", ["text", "review"])
def test_texts_of_a_named_column_need_no_label(write: Writer, column: str, tmp_path: Path) -> None:
    assert read(tmp_path, write(["Sunny, warm", "Rainy"], column), column) == (TextRow("Sunny, warm"), TextRow("Rainy"))


@every_format
def test_bad_rows_are_kept_in_their_place(write: Writer, tmp_path: Path) -> None:
    rows = read(tmp_path, write(["Sunny", None, "a text of more than twenty characters", " ", "Rainy"], "text"))

    assert [row.fault is None for row in rows] == [True, False, False, False, True]
    assert [row.text for row in rows if row.fault is None] == ["Sunny", "Rainy"]
    assert "is blank" in str(rows[1].fault)
    assert "is longer than 20 characters" in str(rows[2].fault)


def test_empty_fields_of_csv_are_a_row_and_a_blank_line_is_none(tmp_path: Path) -> None:
    rows = read(tmp_path, b'text\n"Sunny"\n\n""\nRainy\n')
    assert rows == (TextRow("Sunny"), TextRow("", "(line 4) `text` is blank; write a text"), TextRow("Rainy"))


def test_empty_fields_before_the_header_of_csv_are_no_row(tmp_path: Path) -> None:
    assert read(tmp_path, b",\n\nid,text\n1,Sunny\n") == (TextRow("Sunny"),)


@pytest.mark.parametrize(
    ("content", "texts", "fault"),
    [
        ("id,text\nüü,Sunny\n".encode() + b"2,caf\xe9\n3,Rainy\n", ["Sunny", "", "Rainy"], "`text` holds bytes that"),
        (b"id,text\n1,Sunny\n2,so, warm\n3,Rainy\n", ["Sunny", "", "Rainy"], "has 3 fields where the header has 2"),
        (b'text,id\n"Sunny",1\n"Rainy,2\n"Windy",3\n', ["Sunny", "", "Windy"], "has a quote in the wrong place"),
        (b'{"text": "Sunny"}\n{"text": 3}\n{"text": "Rainy"}\n', ["Sunny", "", "Rainy"], "`text` is a number"),
        (b'{"text": "Sunny"}\n["x"]\n{"text": "Rainy"}\n', ["Sunny", "", "Rainy"], "is not a JSON object"),
    ],
)  # fmt: skip
def test_bad_row_is_kept_with_its_line(content: bytes, texts: list[str], fault: str, tmp_path: Path) -> None:
    rows = read(tmp_path, content)
    assert [row.text for row in rows] == texts
    assert f"(line {2 if content[:1] == b'{' else 3}) {fault}" in str(rows[1].fault)


@every_format
def test_other_columns_are_kept(write: Writer, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(write(["Sunny", None], "text"))
    found = read_texts(tmp_path / "input", LIMITS, columns=Named("text"))
    cells = [dict(zip(found.columns, found.unpack(row), strict=True)) for row in found.rows]
    assert [str(one["id"]) for one in cells] == ["0", "1"]
    assert cells[0]["text"] == "Sunny"


def test_number_that_json_does_not_have_is_no_value(tmp_path: Path) -> None:
    rows = {"text": ["Sunny", "Rainy"], "score": [float("nan"), float("inf")]}
    (tmp_path / "input").write_bytes(write_table(pyarrow.table(rows)))
    found = read_texts(tmp_path / "input", LIMITS, columns=Named("text"))
    assert [found.unpack(row) for row in found.rows] == [["Sunny", None], ["Rainy", None]]


def test_name_of_a_column_is_kept_once(tmp_path: Path) -> None:
    names = [f"a rather long name of column {number}" for number in range(100)]
    lines = [",".join(["text", *names]), *[",".join([f"text {row}", *map(str, range(100))]) for row in range(50)]]
    (tmp_path / "input").write_text("\n".join(lines))

    found = read_texts(tmp_path / "input", LIMITS)

    assert found.columns == ("text", *names)
    assert found.unpack(found.rows[7]) == ["text 7", *map(str, range(100))]
    assert not any(name.encode() in row.cells or row.text.encode() in row.cells for row in found.rows for name in names)


def test_rows_of_objects_may_have_other_columns(tmp_path: Path) -> None:
    lines = ['{"text": "a", "n": 1}', '{"id": "x", "text": " "}', '{"text": null, "n": [1]}', '{"text": "b"}', "[]"]
    (tmp_path / "input").write_text("\n".join(lines))
    found = read_texts(tmp_path / "input", LIMITS)
    assert found.columns == ("text", "n", "id")
    shown = [["a", 1, None], [" ", None, "x"], [None, "[1]", None], ["b", None, None], [None, None, None]]
    assert [found.unpack(row) for row in found.rows] == shown


def test_too_long_name_of_a_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "input").write_text(f"id,text,{'x' * 201}\n1,Sunny,2\n")
    with pytest.raises(
        InvalidDataset, match=r"the name of column 3 .* has 201 characters, and at most 200 are allowed"
    ):
        read_texts(tmp_path / "input", LIMITS)
    assert len(read_texts(tmp_path / "input", replace(LIMITS, max_column_characters=201)).rows) == 1


def test_too_many_columns_are_refused_at_their_first_row(tmp_path: Path) -> None:
    rows = [{"text": "a"}, {"text": "b", **{f"key {number}": 1 for number in range(200)}}]
    (tmp_path / "input").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DatasetTooLarge, match="more than 200 columns"):
        read_texts(tmp_path / "input", LIMITS)


def test_rows_that_are_large_once_they_are_kept_are_refused(tmp_path: Path) -> None:
    """A control character takes one byte of a CSV file, and six of JSON."""
    (tmp_path / "input").write_text("text,other\n" + f"a,{chr(1) * 1000}\n" * 20)
    with pytest.raises(DatasetTooLarge, match=r"more than 100,000 bytes .* found at row 17"):
        read_texts(tmp_path / "input", replace(LIMITS, max_kept_bytes=100_000))


def read_as_usual(path: Path, usual: Dialect) -> ReadTexts:
    return read_texts(path, LIMITS, usual=usual)


def test_usual_dialect_is_taken_where_the_file_does_not_tell(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes("text\nпривет\n".encode("windows-1251"))
    found = read_as_usual(path, Dialect("windows-1251", ";"))
    assert [row.text for row in found.rows] == ["привет"]
    assert (found.dialect.encoding, found.dialect.delimiter) == ("cp1251", ";")
    path.write_bytes("id;text\n1;äöü\n".encode())
    found = read_as_usual(path, Dialect("windows-1251", ";"))
    assert [row.text for row in found.rows] == ["äöü"]


@pytest.mark.parametrize("text", ["late, but fine", "late; but fine"])
def test_usual_delimiter_is_taken_before_others_and_a_file_of_another_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "input"
    rows = [f"some, words; of {number}@{'ab'[number % 2]}" for number in range(30)]
    path.write_text("\n".join([*rows, f"{text}@a"]))
    assert [row.text for row in read_as_usual(path, Dialect(delimiter="@")).rows][-1] == text
    for delimiter in ";|\t":
        path.write_text("\n".join(f"{'ab'[number % 2]}{delimiter}the word {number}" for number in range(9)))
        with pytest.raises(InvalidDataset, match=r"and '@' of the labelled file; name the one to take \(delimiter\)"):
            read_as_usual(path, Dialect(delimiter="@"))
        found = read_texts(path, LIMITS, dialect=Dialect(delimiter=delimiter), usual=Dialect(delimiter="@"))
        assert found.rows[8].text == "the word 8"


@pytest.mark.parametrize("delimiter", [" ", "^"])
def test_usual_delimiter_does_not_part_the_words_of_the_only_column(tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "upload").write_bytes(b"text\nhello my friend\n")
    found = read_as_usual(tmp_path / "upload", Dialect(delimiter=delimiter))
    assert ([row.text for row in found.rows], found.warnings) == (["hello my friend"], ())


def test_usual_encoding_of_utf8_does_not_hinder_another(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes("text\nschön\n".encode("windows-1252"))
    assert [row.text for row in read_as_usual(path, Dialect("utf-8", ",")).rows] == ["schön"]


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
        ("size,sort,note", "{n2},{spelt},words of a text {n}", ("note", "sort"), "few distinct values: 2 in 12 rows"),
        ("type,sort,note", "post,{a3},words of a text {n}", ("note", "sort"), "labels from 'sort'"),
    ],
)  # fmt: skip
def test_columns_are_chosen_with_the_reason(
    tmp_path: Path, header: str, row: str, columns: tuple[str, str], notes: str
) -> None:
    spelt = ("a", "A ", "b", " B", "Ａ", "b\u200b")
    rows = [row.format(n=n, n2=n % 2, n3=n % 3, a2="xy"[n % 2], a3="abc"[n % 3], spelt=spelt[n % 6]) for n in range(12)]
    (tmp_path / "rows").write_text("\n".join([header, *rows]), "utf-8")
    found = parse_dataset(tmp_path / "rows", OWN)
    assert (found.columns, notes in found.warnings[0]) == (columns, True), found.warnings


def test_distinct_values_are_not_counted_without_bound() -> None:
    found = ColumnProfile("id")
    for value in range(2 * MAX_DISTINCT):
        found.add(str(value))
    assert (len(found.distinct), found.can_be_labels) == (MAX_DISTINCT + 1, False)


@pytest.mark.parametrize(
    ("given", "usual", "found"), [(None, None, "Message"), (None, "stars", "stars"), ("stars", None, "stars")]
)
def test_lone_texts_are_found(tmp_path: Path, given: str | None, usual: str | None, found: ColumnNames) -> None:
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


def write_lines(*items: dict[str, Any]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def test_nul_in_another_column_is_replaced_with_a_warning(tmp_path: Path) -> None:
    found = read_file(tmp_path, b"text,note\na,x\nb,y\0z\nc,\0\n")
    assert [(row.text, row.fault) for row in found.rows] == [("a", None), ("b", None), ("c", None)]
    assert "\0" not in str([row.cells for row in found.rows])
    (warning,) = found.warnings
    assert warning.startswith("2 rows with NUL or half a surrogate pair in another column than 'text'; U+FFFD")
    assert warning.endswith("(line 3, line 4)")


def test_half_a_pair_in_a_key_or_list_of_a_cell_is_replaced(tmp_path: Path) -> None:
    found = read_file(tmp_path, write_lines({"text": "a", "note": {"k\0": ["\ud800", 1]}}, {"text": "b", "note": 1.5}))
    assert len(found.warnings) == 1
    assert "(line 1)" in found.warnings[0]


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
def test_text_with_it_is_a_bad_row_that_can_be_stored(tmp_path: Path, text: str) -> None:
    found = read_file(tmp_path, write_lines({"text": text}, {"text": "good"}))
    assert [row.fault is None for row in found.rows] == [False, True]
    assert found.rows[0].text == text[0] + "\ufffd" + text[2:]
    assert found.warnings == ()


@pytest.mark.parametrize("content", [b"text,no\0te\na,b\n", write_lines({"text": "a", "no\ud800te": "b"})])
def test_name_of_a_column_with_it_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidDataset, match=r"the column 'no\\.*te' has NUL or half a surrogate pair in its name"):
        read_file(tmp_path, content)


@pytest.mark.parametrize("cell", ["plain", "naïve", "🎬", "\ufffe", ["a", {"b": "ü"}], {"a": []}, 1, None])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert replace_unstorable(cell) is cell


def test_number_beyond_a_double_is_a_bad_row(tmp_path: Path) -> None:
    found = read_file(tmp_path, b'{"text": "a", "n": 1e999}\n{"text": "b", "n": 1e99}\n')
    assert "beyond the range of a double" in (found.rows[0].fault or "")
    assert found.rows[1].fault is None


@pytest.mark.parametrize("name", ["text\0", "text\ud800"])
def test_column_whose_name_cannot_be_stored_is_refused_by_it(tmp_path: Path, name: str) -> None:
    rows = [{name: f"some words {number}", "label": "ab"[number % 2]} for number in range(20)]
    (tmp_path / "upload").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InvalidDataset, match=r"the name of the column 'text.* rename the column"):
        parse_dataset(tmp_path / "upload", ParsingLimits())
    rows = [{"text": f"some words {number}", name: 1, "label": "ab"[number % 2]} for number in range(20)]
    (tmp_path / "upload").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = parse_dataset(tmp_path / "upload", ParsingLimits()).warnings
    assert replace_unstorable([*said]) == [*said]
