"""The readers of Parquet and of workbooks: types, columns and damage."""

import json
import tracemalloc
from collections.abc import Callable, Iterable
from io import BufferedReader, BytesIO
from itertools import chain, repeat
from pathlib import Path
from typing import cast

import pyarrow
import pyarrow.parquet
import pytest
from dataset_uploads import Uploads, write_parquet, write_table
from written_shapes import MAIN, ROWS, xlsx, zipped

from lens_engine.evaluation.table import write_chosen
from lens_engine.files import InvalidDataset, ParsedDataset, ParsingLimits, parse_dataset, read_texts
from lens_engine.files.workbook import read_sheets
from lens_engine.prompt.labelling import ChosenText

TEXTS = ["works", "broke"]
GOOD = write_parquet([("works", "good"), ("broke", "bad")])


def write_columns(text: object, label: object, **others: object) -> bytes:
    return write_table(pyarrow.table({"text": text, "label": label, **others}))


@pytest.mark.parametrize(
    "to_column",
    [
        lambda values: pyarrow.array(values, pyarrow.string()),
        lambda values: pyarrow.array(values, pyarrow.large_string()),
        lambda values: pyarrow.array(values, pyarrow.string()).cast(pyarrow.string_view()),
        lambda values: pyarrow.array(values).dictionary_encode(),
    ],
)
def test_every_string_type_is_read(uploads: Uploads, to_column: Callable[[list[str]], pyarrow.Array]) -> None:
    dataset = uploads.parse(write_columns(to_column(TEXTS), to_column(["01", "NA"])))

    assert [(example.text, example.label) for example in dataset.examples] == [("works", "01"), ("broke", "NA")]


@pytest.mark.parametrize("kind", [pyarrow.int8(), pyarrow.int64(), pyarrow.uint64()])
def test_integer_label_becomes_its_digits(uploads: Uploads, kind: pyarrow.DataType) -> None:
    dataset = uploads.parse(write_columns(TEXTS, pyarrow.array([0, 120], kind)))

    assert [example.label for example in dataset.examples] == ["0", "120"]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("label", pyarrow.array([1.5, 2.0])),
        ("label", pyarrow.array([0, 1], pyarrow.date32())),
        ("text", pyarrow.array([1, 2])),
        ("text", pyarrow.array([b"x", b"y"])),
    ],
)
def test_column_of_another_type_is_refused_by_name(uploads: Uploads, column: str, values: pyarrow.Array) -> None:
    columns = {"text": TEXTS, "label": ["x", "y"], column: values}

    refusal = uploads.refuse(write_table(pyarrow.table(columns)))

    assert (refusal.field, refusal.row) == (f"dataset.{column}", 0)
    assert f"`{column}` is " in str(refusal)


def test_nested_and_odd_columns_that_are_not_used_do_no_harm(uploads: Uploads) -> None:
    nested = pyarrow.array([{"text": ["x"]}, {"text": []}])
    dataset = uploads.parse(write_columns(TEXTS, ["x", "y"], nested=nested, raw=[b"\xff", None]))

    assert dataset.warnings == ("columns other than text and label are not used: 'nested', 'raw'",)


def test_numbers_of_classes_become_their_names(uploads: Uploads) -> None:
    about = {"info": {"features": {"label": {"names": ["good", "bad"], "_type": "ClassLabel"}}}}
    table = pyarrow.table({"text": TEXTS, "label": [1, 0]}).replace_schema_metadata({"huggingface": json.dumps(about)})
    assert [one.label for one in uploads.parse(write_table(table)).examples] == ["bad", "good"]


def test_file_that_is_not_utf8_is_refused(uploads: Uploads) -> None:
    texts = pyarrow.array([b"fine", b"caf\xe9"], pyarrow.binary()).view(pyarrow.string())

    assert "not UTF-8" in str(uploads.refuse(write_columns(texts, ["x", "y"])))


@pytest.mark.parametrize(
    "content",
    [
        b"PAR1",
        b"PAR1" + b"\xff" * 1_000 + b"\x10\x00\x00\x00PAR1",
        GOOD[: len(GOOD) // 2],
        GOOD[:4] + bytes(len(GOOD) - 300) + GOOD[-296:],
    ],
)
def test_damaged_file_is_refused(uploads: Uploads, content: bytes) -> None:
    refusal = uploads.refuse(content)

    assert type(refusal) is InvalidDataset
    assert "damaged" in str(refusal)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pyarrow.array([2**30, None], pyarrow.date32()), "<value out of range: 1073741824>"),
        (pyarrow.array([2**62, None], pyarrow.duration("s")), "4611686018427387904"),
        (pyarrow.array([b"a\xff", None]).view(pyarrow.string()), "a\ufffd"),
    ],
)
def test_kept_column_of_values_that_python_lacks_is_text(column: pyarrow.Array, shown: str, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(write_table(pyarrow.table({"text": TEXTS, "odd": column})))
    found = read_texts(tmp_path / "input", ParsingLimits.of_own_files())
    cells = [found.unpack(row) for row in found.rows]
    assert cells == [[text, odd] for text, odd in zip(TEXTS, [shown, None], strict=True)]


OWN = ParsingLimits.of_own_files()
SMALL = ParsingLimits(max_bytes=2**16, max_rows=100)
TABLE = [("text", "label"), *ROWS]


def read(folder: Path, content: bytes, limits: ParsingLimits = OWN) -> ParsedDataset:
    (folder / "upload").write_bytes(content)
    return parse_dataset(folder / "upload", limits)


def sheet(*pieces: Iterable[str]) -> Iterable[str]:
    return chain([f"<worksheet {MAIN}><sheetData>"], *pieces, ["</sheetData></worksheet>"])


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<row><c t='s'><v>0</v></c><c t='s'><v>1</v></c></row>", [["text", "label"]]),
        ("<row r='2'><c r='b2' t = 's'\n><v> 1 </v></c><c><v>7</v></c></row>", [[], ["", "label", "7"]]),
        ("<row><c/><c><f>1</f><v>2</v></c></row><row r='3'/><row><c><v>3</v></c></row>", [["", "2"], [], [], ["3"]]),
        ("<x:row><x:c t='s'><!-- > --><x:v>1<!-- 7 --></x:v></x:c></x:row>", [["label"]]),
        ("<row><c t='inlineStr'><is><t> a </t><rPh><t>x</t></rPh></is><v>7</v></c></row>", [["a"]]),
        ("<row><c t='inlineStr'><is><t xml:space='preserve'>a <![CDATA[<]]></t><t>b</t></is></c></row>", [["a <b"]]),
        ("<row><c t='str'><v>a&amp;b</v></c><c t='b'><v>1</v></c><c t='e'><v>#N/A</v></c></row>", [["a&b", "true"]]),
        ("<row><c t='inlineStr'><is><t>a_x000D_b_x00zz_</t></is></c></row>", [["a\rb_x00zz_"]]),
        ("<row><c><v>1.0</v></c><c><v>0.1</v></c><c><v>-1E3</v></c><c><v>a</v></c></row>",
            [["1", "0.1", "-1000", "a"]]),
    ],
)  # fmt: skip
def test_cell_is_shown_as_in_a_spreadsheet(written: str, shown: list[list[str]]) -> None:
    last = "<row r='9'><c><v>1</v></c></row>"
    content = BytesIO(xlsx(TABLE, sheet1=sheet([written, last])))
    ((_, rows),) = read_sheets(cast(BufferedReader, content), OWN, "dataset")
    assert [list(row) for row in rows] == [*shown, *[[]] * (8 - len(shown)), ["1"]]


@pytest.mark.parametrize("place", [0, 17])
def test_remark_beside_the_only_column_of_a_workbook_costs_no_text(tmp_path: Path, place: int) -> None:
    rows = [(text, "call back") if number == place else (text,) for number, (text, _) in enumerate(ROWS)]
    (tmp_path / "upload").write_bytes(xlsx([("text",), *rows]))
    assert [row.text for row in read_texts(tmp_path / "upload", OWN).rows] == [text for text, _ in ROWS]


def test_csv_made_from_a_workbook_begins_with_the_mark_that_spreadsheets_want(tmp_path: Path) -> None:
    (tmp_path / "upload").write_bytes(xlsx([("Text",), ("Fällig",)]))
    written = write_chosen(read_texts(tmp_path / "upload", OWN), [ChosenText(0, "spread")], "Thema")
    assert written.decode() == '\ufeff"Text","Thema","chosen_by"\n"Fällig","","spread"\n'


def test_usual_name_among_the_values_of_a_workbook_is_no_header(tmp_path: Path) -> None:
    labels = ["question", "", *["comment", "question"] * 14]
    rows = [(text, label) for (text, _), label in zip(ROWS, labels, strict=True)]
    found = read(tmp_path, xlsx([("Turn", "Act"), *rows]))
    assert [one.label for one in found.examples] == ["question", *labels[2:]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (xlsx([("text", "label"), *ROWS * 6]), "more than 100 rows"),
        (xlsx([("text", "label"), ("x" * 60_000, "y"), *[("x" * 60_000, "y")] * 20]), "each with its whole text"),
        (zipped({"xl/workbook.xml": "<workbook", "xl/worksheets/sheet1.xml": "<"}), "damaged"),
        (xlsx(TABLE, workbook=["<a>", " <b/>" * 100_000, "</a>"]), "when it is unpacked"),
        (zipped({"xl/workbook.xml": "<workbook/>"}), "damaged"),
    ],
)
def test_workbook_beyond_the_limits_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(InvalidDataset, match=words):
        read(tmp_path, content, SMALL)


MIB = "x" * 2**20
HOSTILE: dict[str, tuple[dict[str, Iterable[str]], str]] = {
    "texts without an end": ({"sharedStrings": repeat("<si>" * 1_000, 500)}, "damaged"),
    "a far cell": ({"sheet1": sheet(["<row><c r='ZZZ90000'><v>1</v></c></row>"])}, "1,000 columns"),
    "a far cell, small": ({"sheet1": sheet(['<row><c r = "xfd9"><v>1</v></c></row>'])}, "1,000 columns"),
    "cells without places": ({"sheet1": sheet(["<row>", "<c><v>1</v></c>" * 9_000, "</row>"])}, "1,000 columns"),
    "a far row": ({"sheet1": sheet(["<row r='100002'><c><v>1</v></c></row>"])}, "100,000 rows"),
    "a far empty cell": ({"sheet1": sheet(["<row><c r='XFD1048576'/></row>"])}, "no sheet with rows"),
    "wide rows": ({"sheet1": sheet(repeat("<row><c r='ALL1'/><c><v>1</v></c></row>", 9_000))}, "1,000 columns"),
    "a sparse table": (
        {"sheet1": sheet(["<row><c r='AX1'><v>1</v></c></row><row r='99999'><c><v>1</v></c></row>"])},
        "no column holds texts",
    ),
    "a text that is repeated": (
        {
            "sharedStrings": ["<sst><si><t>", "x" * 80_000, "</t></si></sst>"],
            "sheet1": sheet(repeat("<row><c t='s'><v>0</v></c><!-- --><c t='s'><v>0</v></c></row>", 5_200)),
        },
        "each with its whole text",
    ),
    "many values": ({"sheet1": sheet(repeat("<row><c><v>1</v></c><c><v>a</v></c></row>", 90_000))}, "each with its"),
    "blanks": ({"sheet1": sheet(repeat(" " * 2**20, 40))}, "1,048,576 characters in a text"),
    "blanks in parts": ({"sheet1": sheet(repeat(" " * 2**19 + "<a/>", 80))}, "when it is unpacked"),
    "an attribute": ({"sheet1": chain(["<a b='"], repeat(MIB, 40))}, "damaged"),
    "a long text": ({"sharedStrings": chain(["<sst><si><t>"], repeat(MIB, 40))}, "characters in a text"),
    "a text in parts": ({"sharedStrings": chain(["<sst><si>"], repeat(f"<t>{MIB}</t>", 40))}, "when it is unpacked"),
    "wide letters": ({"sharedStrings": chain(["<sst>"], repeat(f"<si><t>{MIB[:9_999]}😀</t></si>", 900))}, "each"),
    "names": ({"sheet1": chain(["<a>"], (f"<b{number}/>" for number in range(90_000)))}, "damaged"),
    "depth": ({"sheet1": repeat("<a>" * 1_000, 900)}, "damaged"),
    "sheets": ({"workbook": chain(["<a>"], repeat("<sheet name='a'/>" * 100, 900))}, "each with its whole text"),
    "entities": ({"sharedStrings": ['<!DOCTYPE a [<!ENTITY b "x">]><sst>&b;</sst>']}, "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_workbook_is_refused_before_it_takes_memory(tmp_path: Path, name: str) -> None:
    parts, words = HOSTILE[name]
    (tmp_path / "upload").write_bytes(xlsx(TABLE, **parts))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidDataset, match=words):
            parse_dataset(tmp_path / "upload", ParsingLimits(max_bytes=50 * 2**20))
        assert tracemalloc.get_traced_memory()[1] < 48 * 2**20
    finally:
        tracemalloc.stop()


def test_directory_of_too_many_parts_is_not_read(tmp_path: Path) -> None:
    content = zipped({"xl/workbook.xml": "<a/>", **{f"{number:x}": "" for number in range(30_000)}})
    with pytest.raises(InvalidDataset, match="compressed with zip"):
        read(tmp_path, content)
