"""A quote that nothing closes swallows no rows; what looks so is never taken without a note."""

from pathlib import Path

import pytest

from lens_engine.reading import Dialect, Named, ParsedDataset, ParsingLimits, parse_dataset, read_texts
from lens_engine.reading.column_profiles import Look
from lens_engine.reading.shapes import open_table

LABELS = ("billing", "delivery", "account")
ROWS = [(f"message {number}", LABELS[number % 3]) for number in range(60)]


def parse(content: str, folder: Path) -> ParsedDataset:
    path = folder / "rows.csv"
    path.write_text(content, "utf-8")
    return parse_dataset(path, ParsingLimits.of_own_files(), columns=Named("text", "label"))


def write(rows: list[tuple[str, str]], delimiter: str) -> str:
    return "".join(f"{text}{delimiter}{label}\n" for text, label in [("text", "label"), *rows])


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|"])
@pytest.mark.parametrize("last", [ROWS[40][0] + '"', "unclosed"])
def test_open_quote_swallows_no_rows(delimiter: str, last: str, tmp_path: Path) -> None:
    rows = [*ROWS]
    rows[5] = (f'"{ROWS[5][0]}', ROWS[5][1])
    rows[40] = (last, ROWS[40][1])
    found = parse(write(rows, delimiter), tmp_path)
    assert [(one.text, one.label) for one in found.examples] == rows
    assert sum("quotes are read as letters of the texts" in warning for warning in found.warnings) == 1


def test_open_quote_beyond_the_head_of_a_file_swallows_no_rows(tmp_path: Path) -> None:
    rows = [(f"message {number} {'word ' * 20}", LABELS[number % 3]) for number in range(2000)]
    rows[1500] = (f'"{rows[1500][0]}', rows[1500][1])
    assert len(parse(write(rows, "\t"), tmp_path).examples) == 2000


def test_texts_that_begin_with_a_quote_are_read(tmp_path: Path) -> None:
    rows = [(f'"Urgent" {text}' if place % 9 == 0 else text, label) for place, (text, label) in enumerate(ROWS)]
    assert [one.text for one in parse(write(rows, "\t"), tmp_path).examples] == [text for text, _ in rows]


def test_texts_of_several_lines_stay_one_text(tmp_path: Path) -> None:
    letter = "Dear team,\nthank you,\nmany greetings,\nJim"
    rows = [(f'"{letter} {number}"', LABELS[number % 3]) for number in range(30)]
    found = parse(write(rows, ","), tmp_path)
    assert [one.text for one in found.examples] == [f"{letter} {number}" for number in range(30)]
    assert not found.warnings


def test_quoted_text_with_lines_that_look_like_rows_is_taken_with_a_note(tmp_path: Path) -> None:
    rows = [(f'"{text}, please"', label) for text, label in ROWS]
    rows[5] = ('"first,billing\nsecond,account\nthird"', "delivery")
    found = parse(write(rows, ","), tmp_path)
    assert len(found.examples) == 60
    assert found.examples[5].text == "first,billing\nsecond,account\nthird"
    (warning,) = found.warnings
    assert warning == (
        "1 row has a quoted text with lines that look like rows of their own; if a quote was left open there, close it "
        "(line 7)"
    )


CHAT = [("hello", "thanks", "good morning", "bye then")[number % 4] for number in range(140)]
ANSWERS = [(str(number), ("yes", "no", "later")[number % 3]) for number in range(60)]


def test_chat_with_lines_of_other_messages_stays_one_text(tmp_path: Path) -> None:
    path = tmp_path / "chat.csv"
    path.write_text("\n".join(["text", *CHAT[:70], '"Hi Anna\nhello\nthanks\nBye"', *CHAT[70:], ""]), "utf-8")
    found = read_texts(path, ParsingLimits.of_own_files(), dialect=Dialect())
    assert [row.text for row in found.rows] == [*CHAT[:70], "Hi Anna\nhello\nthanks\nBye", *CHAT[70:]]


@pytest.mark.parametrize("labels", [False, True])
def test_list_with_values_of_other_rows_stays_one_text(tmp_path: Path, *, labels: bool) -> None:
    answers = [
        ",".join([f"ask {number}", answer, *[LABELS[number]] * labels])
        for number, (_, answer) in enumerate(ANSWERS[:3])
    ]
    note = "\n".join(["to do", *answers, "done"])
    rows = [*ANSWERS[:30], ("31", f'"{note}"'), *ANSWERS[30:]]
    path = tmp_path / "notes.csv"
    ends = [f",{LABELS[place % 3]}" * labels for place in range(len(rows))]
    lines = [f"{name},{text}{end}\n" for (name, text), end in zip(rows, ends, strict=True)]
    path.write_text("id,text" + ",label" * labels + "\n" + "".join(lines), "utf-8")
    found = read_texts(path, ParsingLimits.of_own_files(), dialect=Dialect())
    assert [row.text for row in found.rows] == [text.strip('"') for _, text in rows]


def test_few_lines_that_look_like_rows_stay_one_text_with_a_note(tmp_path: Path) -> None:
    rows = [*ROWS]
    rows[5] = ('"first,billing\nsecond,account\nthird"', "delivery")
    found = parse(write(rows, ","), tmp_path)
    assert found.examples[5].text == "first,billing\nsecond,account\nthird"
    assert sum("1 row has a quoted text with lines that look like rows" in warning for warning in found.warnings) == 1


def test_bad_quote_among_quoted_texts_costs_one_row(tmp_path: Path) -> None:
    rows = [(f'"{text}, please"', label) for text, label in ROWS]
    rows[5] = ('"he said "no", please"', "delivery")
    found = parse(write(rows, ","), tmp_path)
    assert [one.row for one in found.examples] == [*range(5), *range(6, 60)]
    assert found.warnings == ("1 row with a quote in the wrong place left out (line 7)",)


LOG = "".join(f'log line ""{number}"", of a build\n' for number in range(7_000))


@pytest.mark.parametrize(
    ("written", "left_out"),
    [
        (f'"{LOG}",billing', "1 row whose text is longer than 131,072 characters left out (line 7)"),
        ('"he said\nwell "no" or\nyes, so",billing', "1 row with a quote in the wrong place left out (line 7)"),
        ('"he said "no"\nor so\nor so",billing', "1 row with a quote in the wrong place left out (line 7)"),
    ],
)
def test_broken_record_of_many_lines_costs_one_row(tmp_path: Path, written: str, left_out: str) -> None:
    lines = write(ROWS, ",").splitlines(keepends=True)
    found = parse("".join([*lines[:6], f"{written}\n", *lines[6:]]), tmp_path)
    assert [(one.text, one.label) for one in found.examples] == ROWS
    assert found.warnings == (left_out,)


@pytest.mark.parametrize("delimiter", [None, ","])
def test_quotes_round_whole_lines_are_taken_off(tmp_path: Path, delimiter: str | None) -> None:
    lines = ["text,label", *(f'""{text}, it said, """"so"""""",{label}' for text, label in ROWS)]
    path = tmp_path / "rows.csv"
    path.write_text("".join(f'"{line}"\n' for line in lines))
    found = parse_dataset(path, ParsingLimits.of_own_files(), dialect=Dialect(delimiter=delimiter))
    assert [(one.text, one.label) for one in found.examples] == [
        (f'{text}, it said, "so"', label) for text, label in ROWS
    ]
    assert found.warnings == ("each line is enclosed in quotes as a whole, which are no part of it",)


def test_file_of_texts_is_read_so_too(tmp_path: Path) -> None:
    path = tmp_path / "texts.tsv"
    path.write_text("text\tlabel\n" + 'x\tbilling\n"y\tbilling\nz\tbilling\n', "utf-8")
    found = read_texts(path, ParsingLimits.of_own_files(), dialect=Dialect())
    assert [row.text for row in found.rows] == ["x", '"y', "z"]


def test_quoted_texts_with_the_delimiter_tell_that_quotes_enclose(tmp_path: Path) -> None:
    rows = [(f'"Well, {text}"' if place % 20 == 0 else text, label) for place, (text, label) in enumerate(ROWS)]
    rows[5] = (f'"{ROWS[5][0]}', ROWS[5][1])
    found = parse(write(rows, ","), tmp_path)
    assert [one.text for one in found.examples[:2]] == ["Well, message 0", "message 1"]
    assert found.warnings == ("1 row with a quote in the wrong place left out (line 7)",)


def test_reading_that_loses_the_fewest_lines_wins(tmp_path: Path) -> None:
    rows = [*ROWS]
    for place in (2, 5):
        rows[place] = (f'"{ROWS[place][0]}', ROWS[place][1])
    rows[8] = ('"Well, yes"', ROWS[8][1])
    found = parse(write(rows, ","), tmp_path)
    assert [one.text for one in found.examples if one.row in (2, 5, 8)] == ['"message 2', '"message 5', '"Well, yes"']
    rows[11] = ("one, two, three", "and, four")
    found = parse(write(rows, ","), tmp_path)
    assert [row for row in range(60) if row not in {one.row for one in found.examples}] == [8, 11]


@pytest.mark.parametrize(("quoted", "read"), [("'it''s late, or'", "it's late, or"), (r"'it\'s late'", "it's late")])
def test_single_quotes_enclose_where_nearly_every_line_has_them(tmp_path: Path, quoted: str, read: str) -> None:
    rows = [(f"'{text}'", label) for text, label in ROWS]
    rows[3] = (quoted, "billing")
    found = parse(write(rows, ","), tmp_path)
    assert [one.text for one in found.examples[2:5]] == ["message 2", read, "message 4"]
    assert found.warnings == ("the fields are enclosed in single quotes",)


def test_apostrophes_are_letters_elsewhere(tmp_path: Path) -> None:
    rows = [(f"'tis {text}' she said" if place % 3 else text, label) for place, (text, label) in enumerate(ROWS)]
    assert [one.text for one in parse(write(rows, ","), tmp_path).examples] == [text for text, _ in rows]


def test_backslash_before_a_quote_makes_it_a_letter(tmp_path: Path) -> None:
    rows = [
        (f'"she said \\"no, {text}\\""' if place % 3 else f'"{text}"', label)
        for place, (text, label) in enumerate(ROWS)
    ]
    found = parse(write(rows, ","), tmp_path)
    assert found.examples[1].text == 'she said "no, message 1"'
    assert found.warnings == ("a quote after a backslash is read as a letter of the text",)


def test_columns_are_told_by_all_rows_where_quotes_are_letters(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    rows = [f"{number}\tmessage {number}\t{LABELS[number % 3]}\n" for number in range(200)]
    path.write_text("a1\tb1\tc1\n" + "".join(rows).replace("message 0", '"message 0'), "utf-8")
    with open_table(path, ParsingLimits.of_own_files(), "dataset") as table:
        assert [(one.name, one.num_values) for one in Look(table).columns] == [("a1", 200), ("b1", 200), ("c1", 200)]
    assert parse_dataset(path, ParsingLimits()).columns == ("b1", "c1")


def test_quoted_header_names_the_columns_where_quotes_are_letters(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    rows = [*ROWS]
    rows[5] = (f'"{ROWS[5][0]}', ROWS[5][1])
    path.write_text(write(rows, "\t").replace("text\tlabel", '"text"\t"label"'), "utf-8")
    found = parse_dataset(path, ParsingLimits.of_own_files(), columns=Named("text", "label"))
    assert [(one.text, one.label) for one in found.examples] == rows
    with open_table(path, ParsingLimits.of_own_files(), "dataset") as table:
        assert table.names == ("text", "label")


@pytest.mark.parametrize(
    ("form", "more"),
    [
        ("{1}, {0}", ""),
        (" {1} | {0} ", ""),
        ("{1} |{0}", ""),
        ('"{1}", "{0}, or ""so"""', ', or "so"'),
        ('{1}, "{0}, so"', ", so"),
    ],
)
def test_spaces_round_delimiters_are_no_part_of_a_value(tmp_path: Path, form: str, more: str) -> None:
    lines = [
        form.replace(', or ""so""', "").replace(", so", "").format("text", "label"),
        *(form.format(*row) for row in ROWS),
    ]
    (tmp_path / "rows").write_text("\n".join(lines))
    found = parse_dataset(tmp_path / "rows", ParsingLimits())
    assert [(one.text, one.label) for one in found.examples] == [(text + more, label) for text, label in ROWS]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(
    "above", ["Messages of May,,", "Messages of May", "Messages of May,,\nby hand,,\n,,", "# all, of May; CC0\n% 2"]
)
def test_lines_above_a_table_are_no_header(tmp_path: Path, above: str, delimiter: str) -> None:
    rows = [f"{number},{text},{label}".replace(",", delimiter) for number, (text, label) in enumerate(ROWS)]
    header = "number,text,label".replace(",", delimiter)
    (tmp_path / "rows").write_text("\n".join([above.replace(",,", 2 * delimiter), header, *rows]))
    found = parse_dataset(tmp_path / "rows", ParsingLimits())
    assert [(one.text, one.label) for one in found.examples] == ROWS
    begin = 2 + above.count("\n")
    assert found.examples[0].line == begin + 1
    assert f"the table begins in line {begin}" in found.warnings


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_comments_above_a_table_without_a_header_are_no_rows(tmp_path: Path, delimiter: str) -> None:
    rows = [f"{text}{delimiter}{label}" for text, label in [("#sunny", ""), *ROWS]]
    (tmp_path / "rows").write_text("\n".join(["# messages of May", "% by hand", *rows]))
    found = parse_dataset(tmp_path / "rows", ParsingLimits(), columns=Named("column 1", "column 2"))
    assert [(one.text, one.label) for one in found.examples] == ROWS
    assert [one.text for one in found.unlabelled] == ["#sunny"]


def test_first_row_without_a_label_is_no_title(tmp_path: Path) -> None:
    rows = ["a message of nobody,", *(f"{text},{label}" for text, label in ROWS)]
    (tmp_path / "rows").write_text("\n".join(rows))
    found = parse_dataset(tmp_path / "rows", ParsingLimits(), columns=Named("column 1", "column 2"))
    assert [one.text for one in found.unlabelled] == ["a message of nobody"]
    assert len(found.examples) == len(ROWS)


@pytest.mark.parametrize("delimiter", ["||", " +++ ", "@"])
def test_any_string_may_be_named_as_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "rows").write_text("".join(f'"{text}, {delimiter} so"{delimiter}{label}\n' for text, label in ROWS))
    found = parse_dataset(tmp_path / "rows", ParsingLimits(), dialect=Dialect(delimiter=delimiter))
    wanted = [(f"{text}, {delimiter} so", label) for text, label in ROWS]
    assert [(one.text, one.label) for one in found.examples] == wanted


@pytest.mark.parametrize("again", ["text,label", "\ufefftext,label", "Text, Label"])
def test_header_that_comes_again_is_no_row(tmp_path: Path, again: str) -> None:
    lines = write(ROWS, ",").splitlines()
    found = parse("\n".join([*lines[:20], again, *lines[20:], again]), tmp_path)
    assert [(one.text, one.label) for one in found.examples] == ROWS
    assert "2 rows with the names of the columns left out" in found.warnings
