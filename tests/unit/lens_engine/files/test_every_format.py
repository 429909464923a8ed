"""Rules that hold whatever the rows are written in."""

from pathlib import Path

import pytest
from dataset_uploads import FORMATS, WRITERS, Row, Uploads, to_mappings

from lens_engine.files import (
    BadRows,
    DatasetEmpty,
    DatasetTooLarge,
    InvalidDataset,
    Named,
    ParsingLimits,
    parse_dataset,
    parse_inline,
)
from lens_engine.types import Example

GOOD: list[Row] = [("works well", "good"), ("fell apart", "bad")]
ODD_LABELS = ["0", "01", "true", "1e5", "NA", "null", "nan", "None", "2024-01-02", " padded ", "=1+1", "-", "@x", "\tx"]
ODD_TEXTS = [
    "NA",
    "null",
    "=cmd()",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    " padded ",
    "a\r\nb",
    "{text} {{",
    "x\u2028y",
]
SECRET = "my bank card is 4929"


def prefix(written_as: str) -> str:
    return "examples" if written_as == "inline" else "dataset"


def test_good_rows_come_back_in_order(uploads: Uploads, written_as: str) -> None:
    dataset = uploads.parse_rows(GOOD, written_as)

    assert dataset.examples == (Example(0, "works well", "good"), Example(1, "fell apart", "bad"))
    assert dataset.format == written_as
    assert dataset.warnings == ()


def test_same_rows_have_one_digest_in_all_formats(uploads: Uploads) -> None:
    rows = [*GOOD, ("naïve — 一 🙂", "0"), ('say "no",\nplease', "01")]

    digests = {uploads.parse_rows(rows, written_as).sha256 for written_as in FORMATS}

    assert len(digests) == 1
    assert uploads.parse_rows(rows[::-1], "csv").sha256 not in digests


@pytest.mark.parametrize("written_as", WRITERS)
def test_open_file_is_read_as_its_path_and_stays_open(tmp_path: Path, written_as: str) -> None:
    path = tmp_path / "upload"
    path.write_bytes(WRITERS[written_as](GOOD))
    limits = ParsingLimits(max_bytes=path.stat().st_size, is_trusted=True)

    with path.open("rb") as file:
        dataset = parse_dataset(file, limits)
        assert not file.closed
    assert dataset == parse_dataset(path, limits)
    with path.open("rb") as file, pytest.raises(DatasetTooLarge):
        parse_dataset(file, ParsingLimits(max_bytes=path.stat().st_size - 1))


def test_odd_values_stay_as_written(uploads: Uploads, written_as: str) -> None:
    rows: list[Row] = [*((text, "good") for text in ODD_TEXTS), *(("a text", label) for label in ODD_LABELS)]

    assert [(one.text, one.label) for one in uploads.parse_rows(rows, written_as).examples] == rows


@pytest.mark.parametrize(
    ("row", "column", "words"),
    [
        (("", "good"), "text", "is blank"),
        ((None, "good"), "text", "is blank"),
        (("a text", None), "label", "is empty"),
        ((" \t\u3000", "good"), "text", "is blank"),
        (("\u200b\u2066", "good"), "text", "is blank"),
        (("a text", ""), "label", "is empty"),
        (("a text", "  "), "label", "is empty"),
        (("a \x00 text", "good"), "text", "NUL"),
        (("a text", "go\x00od"), "label", "NUL"),
        (("x" * 20_001, "good"), "text", "20,000 characters"),
        (("a" + "\u0301" * 31, "good"), "text", "more than 30 combining marks"),
        (("a text", "o\u0323" + "\u0301" * 30), "label", "more than 30 combining marks"),
        (("a text", "x" * 201), "label", "200 characters"),
    ],
)
def test_bad_value_is_named_by_its_place(uploads: Uploads, written_as: str, row: Row, column: str, words: str) -> None:
    refusal = uploads.refuse_rows([*GOOD, row, ("", "")], written_as)

    problem = refusal.problems[0]
    assert type(refusal) is BadRows
    assert (refusal.row, refusal.field) == (2, f"{prefix(written_as)}.{column}")
    assert (problem.row, problem.field) == (refusal.row, refusal.field)
    assert words in problem.detail
    assert problem.detail in str(refusal)


@pytest.mark.parametrize("rows", [[], [("", "")], [("", ""), (" ", "")] * 30, [("one row", "good")]])
def test_nothing_to_select_from_is_refused_as_empty(uploads: Uploads, written_as: str, rows: list[Row]) -> None:
    refusal = uploads.refuse_rows(rows, written_as)

    assert isinstance(refusal, DatasetEmpty)
    assert refusal.code == "dataset-empty"
    assert refusal.field == prefix(written_as)


def test_many_bad_rows_are_counted_and_the_first_ten_pointed_at(uploads: Uploads, written_as: str) -> None:
    refusal = uploads.refuse_rows([("a text", "")] * 25 + GOOD, written_as)

    assert [problem.row for problem in refusal.problems] == list(range(10))
    assert isinstance(uploads.refuse_rows([("a text", "")] * 5, written_as, ParsingLimits(max_rows=4)), DatasetTooLarge)
    assert str(refusal).startswith("25 rows cannot be used")


def test_refusal_and_warnings_never_repeat_a_text(uploads: Uploads, written_as: str) -> None:
    bad = [(f"{SECRET}\x00", "good"), (SECRET, ""), (SECRET * 2_000, "good")]
    refusal = uploads.refuse_rows(bad, written_as)
    dataset = uploads.parse_rows([(f"\u200b{SECRET}", "good"), GOOD[1]], written_as)

    shown = [str(refusal), *(problem.detail for problem in refusal.problems), *dataset.warnings]
    assert len(shown) == 5
    assert not any("4929" in sentence for sentence in shown)


def test_row_cap_is_inclusive_and_one_more_is_refused(uploads: Uploads, written_as: str) -> None:
    limits = ParsingLimits(max_rows=4)

    assert len(uploads.parse_rows(GOOD * 2, written_as, limits).examples) == 4
    refusal = uploads.refuse_rows([*GOOD * 2, GOOD[0]], written_as, limits)
    assert isinstance(refusal, DatasetTooLarge)
    assert refusal.code == "dataset-too-large"


def test_label_cap_is_inclusive_and_one_more_is_refused_with_ten_names(uploads: Uploads, written_as: str) -> None:
    limits = ParsingLimits(max_labels=12)
    rows: list[Row] = [(f"text {number}", f"label-{number:02}") for number in range(13)]

    assert len(uploads.parse_rows(rows[:12], written_as, limits).examples) == 12
    refusal = uploads.refuse_rows(rows, written_as, limits)
    assert (refusal.row, refusal.field) == (12, f"{prefix(written_as)}.label")
    assert str(refusal).count("label-") == 10
    assert "and 3 more" in str(refusal)


def test_inline_examples_over_the_byte_cap_are_refused() -> None:
    limits = ParsingLimits(max_bytes=22)

    assert parse_inline(to_mappings([("ééééé", "x"), ("ééééé", "x")]), limits)
    with pytest.raises(DatasetTooLarge):
        parse_inline(to_mappings([("ééééé", "x"), ("ééééée", "x")]), limits)


def test_rows_of_text_formats_know_their_line(uploads: Uploads, written_as: str) -> None:
    dataset = uploads.parse_rows([("two\nlines", "good"), *GOOD], written_as)

    lines = {"csv": [2, 4, 5], "jsonl": [1, 2, 3]}.get(written_as, [None] * 3)
    assert [example.line for example in dataset.examples] == lines


def test_columns_may_have_other_names_which_a_refusal_names(uploads: Uploads, written_as: str) -> None:
    names = ("Text", "Class")
    dataset = uploads.parse_rows(GOOD, written_as, names=names)
    assert [(example.text, example.label) for example in dataset.examples] == GOOD
    assert dataset.warnings == ()
    with pytest.raises(InvalidDataset) as refusal:
        uploads.parse_rows([*GOOD, ("a text", "")], written_as, names=names)

    assert refusal.value.field == f"{prefix(written_as)}.Class"
    assert "`Class` is empty" in str(refusal.value)


def test_one_column_for_text_and_label_is_refused() -> None:
    with pytest.raises(InvalidDataset, match="'a' cannot hold both texts and labels") as refusal:
        parse_inline([{"a": "x"}], ParsingLimits(), columns=Named("a", "a"))

    assert refusal.value.field == "label_column"


@pytest.mark.parametrize(
    ("character", "kind"), [("\u202e", "bidirectional"), ("\u2066", "bidirectional"), ("\u200b", "zero-width")]
)
def test_invisible_character_is_kept_and_counted(uploads: Uploads, written_as: str, character: str, kind: str) -> None:
    text = f"left{character}right"
    dataset = uploads.parse_rows([GOOD[0], *[(text, "good")] * 12], written_as)

    assert dataset.examples[1].text == text
    (warning,) = dataset.warnings
    assert warning.startswith(f"12 rows have {kind}")
    assert warning.endswith(f"({', '.join(one.place for one in dataset.examples[1:11])} and 2 more)")


@pytest.mark.parametrize("overrides", [{"max_rows": 0}, {"max_bytes": -1}, {"max_text_characters": 131_073}])
def test_senseless_limit_is_refused(overrides: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"positive|characters"):
        ParsingLimits(**overrides)
