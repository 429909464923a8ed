from pathlib import Path

import pytest
from dataset_uploads import Uploads

from lens_engine.reading import DatasetTooLarge, Dialect, InvalidDataset, Named, ParsingLimits, parse_dataset


def test_mixed_line_ends_are_taken(uploads: Uploads) -> None:
    dataset = uploads.parse(b'text,label\r\na,x\rb,y\n"c\r\nd",x')

    assert [example.text for example in dataset.examples] == ["a", "b", "c\r\nd"]


def test_columns_may_stand_in_any_order_among_others(uploads: Uploads) -> None:
    dataset = uploads.parse(b"id,label,note,text\n1,x,,a\n2,y,?,b\n")

    assert [(example.text, example.label) for example in dataset.examples] == [("a", "x"), ("b", "y")]
    assert dataset.warnings == ("columns other than text and label are not used: 'id', 'note'",)


def test_all_missing_columns_are_in_one_refusal(uploads: Uploads) -> None:
    refusal = uploads.refuse(b"ID,Texts,Labels,channel\n1,a,x,web\n")

    assert str(refusal) == (
        "there are no columns named 'text' and 'label'; columns found: 'ID', 'Texts', 'Labels', 'channel'; "
        "did you mean 'Texts' and 'Labels'? name one of the columns found (text_column, label_column)"
    )


@pytest.mark.parametrize(
    ("columns", "meant", "field"),
    [
        (("bodi", "kind"), "body", "text_column"),
        (("bodi", "boddy"), "body'[?] ", "text_column"),
        (("x", "kind"), "body", "text_column"),
        (("body", "knd"), "kind", "label_column"),
        (("body", "x"), "kind", "label_column"),
    ],
)
def test_wrong_column_name_is_refused_with_the_one_that_is_meant(
    columns: tuple[str, str], meant: str, field: str, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id,body,kind\n1,a long text,x\n2,another one,y\n")
    with pytest.raises(InvalidDataset, match=f"did you mean '{meant}") as refusal:
        parse_dataset(tmp_path / "rows.csv", ParsingLimits(), columns=Named(*columns))
    assert refusal.value.field == field
    assert refusal.value.columns == ("id", "body", "kind")


def test_blank_rows_are_skipped_counted_and_not_numbered(uploads: Uploads) -> None:
    dataset = uploads.parse(b"text,label\n\na,x\n,\n  \nb,y\n\n")

    assert [example.row for example in dataset.examples] == [0, 1]
    assert dataset.warnings == ("4 blank rows were skipped and are not counted in row numbers",)


def test_endless_blank_lines_are_refused(uploads: Uploads) -> None:
    refusal = uploads.refuse(b"text,label\na,x\nb,y\n" + b"\n" * 11, ParsingLimits(max_rows=10))

    assert isinstance(refusal, DatasetTooLarge)


@pytest.mark.parametrize(
    ("header", "field", "words"),
    [
        (b"texts,label", "text_column", "'texts', 'label'"),
        (b"text,class", "label_column", "'text', 'class'"),
        (b"text,label,text", "dataset.text", "more than once"),
        (b"a,b,c,d,e,f,g,h,i,j,k,l", "text_column", "'j' and 2 more"),
        (b"%b,label" % (b"x" * 60), "text_column", f"'{'x' * 40}…'"),
        (b"te\x00xt,label", "text_column", "'te\\x00xt'"),
        (b",".join([b"c"] * 1_001), "dataset", "more than 1,000 columns"),
    ],
)
def test_unusable_header_is_refused_with_the_columns_found(
    uploads: Uploads, header: bytes, field: str, words: str
) -> None:
    refusal = uploads.refuse(header + b"\na,x\nb,y\n")

    assert (refusal.field, refusal.row) == (field, None)
    assert words in str(refusal)


def test_empty_columns_of_a_spreadsheet_are_taken(uploads: Uploads) -> None:
    assert len(uploads.parse(b"text,label,,\na,x,,\nb,y,,\n").examples) == 2


@pytest.mark.parametrize(
    ("content", "row", "line", "words"),
    [
        (b'text,label\n"a",x\n"b,y\nc,x\n', 1, 3, "never closed (line 3, column 1, at '\"b,y\\nc,x')"),
        (b'text,label\n"a",x\n"b"c,y\n', 1, 3, "wrong place (line 3, column 3, at '\"b\"c,y')"),
        (b'text,label\na,x\n"b\n""d"" "e"f', 1, 3, "wrong place (line 4, column 7, at '"),
        (b'text,label\n"a\n\nb",x\nb\n', 1, 5, "has 1 fields where the header has 2"),
        (b"text,label\na,x\n\nb, c,y\n", 1, 4, "has 3 fields where the header has 2"),
        (b'text,label\na,x\n"' + b"b\n" * 70_000, 1, 3, "never closed"),
        (b"text,label\na,x\n" + b",".join([b"b" * 100_000] * 11), 1, 3, "far too long"),
        (b"text,label\na,x\n" + b'"%b\n",,' % (b"b" * 60) * 20_000, 1, 3, "far too long"),
    ],
)
def test_row_that_is_no_table_row_is_refused_with_row_and_line(
    uploads: Uploads, content: bytes, row: int, line: int, words: str
) -> None:
    refusal = uploads.refuse(content)

    assert (refusal.row, refusal.field) == (row, "dataset")
    assert f"line {line} " in str(refusal)
    assert words in str(refusal)


def test_line_far_too_long_that_ends_a_piece_of_the_file_costs_no_other(uploads: Uploads) -> None:
    content = b"text,label\n" + b"a,x\nb,y\n" * 5

    dataset = uploads.parse(content.ljust(2**21 - 1, b"c") + b"\nd,x\ne,y\n")

    assert [(example.text, example.line) for example in dataset.examples[-2:]] == [("d", 13), ("e", 14)]


@pytest.mark.parametrize(
    ("row", "column"), [(b"caf\xe9,x", "text"), (b"\xed\xa0\x80,x", "text"), (b"b,\xe9", "label"), (b"b\xe2\x82", None)]
)
def test_row_that_is_not_utf8_is_refused_with_row_line_and_column(
    uploads: Uploads, row: bytes, column: str | None
) -> None:
    refusal = uploads.refuse("\ufefftext,label\n«éé»,x\n".encode() + row)

    assert (refusal.row, refusal.field) == (1, f"dataset.{column}" if column else "dataset")
    assert str(refusal).startswith("line 3")
    assert column is None or f"`{column}` holds bytes that are not UTF-8 at '" in str(refusal)


def test_open_quote_in_the_header_is_refused_without_a_row(uploads: Uploads) -> None:
    refusal = uploads.refuse(b'"text,label\na,x\nb,y\n')

    assert refusal.row is None
    assert "the header (line 1) opens a quote that is never closed" in str(refusal)


def test_rows_before_an_unreadable_one_are_pointed_at_too(uploads: Uploads) -> None:
    refusal = uploads.refuse(b'text,label\n,x\n"a",y\n"b,x\n')

    assert [(problem.row, problem.field) for problem in refusal.problems] == [(0, "dataset.text"), (2, "dataset")]


def test_row_of_another_width_is_shown_from_its_beginning(uploads: Uploads) -> None:
    refusal = uploads.refuse(b"text,label\na,x\none, two, three, four,y\n")

    assert str(refusal).endswith("; the row begins 'one, two, three…'")


def test_wrong_encoding_or_delimiter_is_named_in_place_of_a_missing_column(uploads: Uploads) -> None:
    path = uploads.folder / "upload"
    path.write_bytes("text,categoría\na,b\n".encode("cp1252"))
    with pytest.raises(InvalidDataset, match="the header holds bytes that are not UTF-8 at 'categor"):
        parse_dataset(path, ParsingLimits(), dialect=Dialect(encoding="utf-8"))
    path.write_bytes(b"text;label\na;b\n")
    with pytest.raises(InvalidDataset, match=r"name the delimiter of the file, perhaps ';' \(delimiter\)"):
        parse_dataset(path, ParsingLimits(), dialect=Dialect(delimiter=","))
