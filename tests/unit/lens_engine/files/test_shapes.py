"""Every shape of file gives the same rows, and says in one line what it took for texts and labels."""

import json
from pathlib import Path
from typing import Any

import pytest
from dataset_uploads import FORMATS, Row, Uploads
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from written_shapes import ROWS, SHAPES, lines

from lens_engine.files import (
    DatasetTooLarge,
    InvalidDataset,
    Named,
    ParsedDataset,
    ParsingLimits,
    parse_dataset,
    parse_inline,
    read_texts,
)
from lens_engine.files.text_file import TextFile
from lens_engine.prompt.text_checks import is_blank

OWN = ParsingLimits.of_own_files()


def read(folder: Path, content: bytes, limits: ParsingLimits = OWN, *named: Any) -> ParsedDataset:
    path = folder / "upload"
    path.write_bytes(content)
    return parse_dataset(path, limits, columns=Named(*named))


@pytest.mark.parametrize("written", SHAPES)
def test_every_shape_gives_the_same_rows(tmp_path: Path, written: str) -> None:
    found = read(tmp_path, SHAPES[written](ROWS))
    assert sorted((one.text, one.label) for one in found.examples) == sorted(ROWS)


@pytest.mark.parametrize("written", SHAPES)
def test_texts_of_every_shape_are_read_without_labels_too(tmp_path: Path, written: str) -> None:
    (tmp_path / "upload").write_bytes(SHAPES[written](ROWS))
    found = read_texts(tmp_path / "upload", OWN)
    assert {text for text, _ in ROWS} <= {row.text for row in found.rows if row.fault is None}


PLAIN = {
    "csv",
    "jsonl",
    "parquet",
    "json array",
    "json array in one line",
    "lists of one",
    "Doccano",
    "YAML",
    "label objects",
}
PLAIN |= {"Arrow stream", "Arrow file"}


SAID = ("read ", "the file is read as", "the fields are", "each ", "the rows of", "rows of", "delimiters within")


@pytest.mark.parametrize("written", [one for one in SHAPES if one not in PLAIN])
def test_one_line_says_what_was_taken(tmp_path: Path, written: str) -> None:
    said = read(tmp_path, SHAPES[written](ROWS)).warnings
    about = [one for one in said if one.startswith(SAID)]
    assert len(about) >= 1


def unlabelled(values: list[object], **more: Any) -> bytes:
    return lines([{"text": f"text {number}", "label": value, **more} for number, value in enumerate(values)])


@pytest.mark.parametrize("empty", [None, "", " ", float("nan"), []])
def test_rows_without_a_label_are_kept_aside_at_any_share_if_asked(tmp_path: Path, empty: object) -> None:
    values = [empty if number % 2 else number // 2 % 3 for number in range(40)]
    limits = ParsingLimits(skips_unlabelled=True)
    found = read(tmp_path, unlabelled(values), limits)
    assert [one.label for one in found.examples] == [str(value) for value in values[::2]]
    assert [(one.row, one.text) for one in found.unlabelled] == [(row, f"text {row}") for row in range(1, 40, 2)]
    assert any(warning.startswith("20 rows without a label kept aside (line 2,") for warning in found.warnings)
    with pytest.raises(InvalidDataset, match=r"`label` is empty; .*rows\.unlabelled to skip"):
        read(tmp_path, unlabelled(values))


def test_folder_with_a_file_or_a_folder_of_texts_for_each_label_is_read(tmp_path: Path) -> None:
    files, folders = tmp_path / "files", tmp_path / "folders"
    files.mkdir()
    for number, (text, label) in enumerate(ROWS):
        (folders / label).mkdir(parents=True, exist_ok=True)
        (folders / label / f"{number:02}.txt").write_text(text)
        with (files / f"{label}.txt").open("a") as file:
            file.write(f"{text}\n\n")
    for folder in (files, folders):
        assert sorted((one.text, one.label) for one in parse_dataset(folder, OWN).examples) == sorted(ROWS)


@pytest.mark.parametrize("other", ["train.txt", "all_labels.txt", "README.md", "rows.csv"])
def test_folder_with_a_file_that_is_no_class_is_refused(tmp_path: Path, other: str) -> None:
    for name in ("account.txt", "billing.txt", other):
        (tmp_path / name).write_text("some text\n")
    with pytest.raises(InvalidDataset, match=rf"the folder holds .*'{other}'.*; name a file"):
        parse_dataset(tmp_path, OWN)


def test_folder_that_hugging_face_datasets_saved_is_read(tmp_path: Path) -> None:
    train = tmp_path / "train"
    train.mkdir()
    (train / "data.arrow").write_bytes(SHAPES["Arrow stream"](ROWS))
    (train / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    assert [(one.text, one.label) for one in parse_dataset(train, OWN).examples] == ROWS
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    found = parse_dataset(tmp_path, OWN)
    assert [(one.text, one.label) for one in found.examples] == ROWS
    assert "of which the split train is read" in found.warnings[0]
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["test"]}))
    with pytest.raises(InvalidDataset, match=r"no split train; name the folder of one of \['test'\]"):
        parse_dataset(tmp_path, OWN)


@pytest.mark.parametrize(
    ("content", "blank"),
    [
        *[(SHAPES[written](ROWS), b"\n") for written in ("csv", "jsonl", "ARFF")],
        (SHAPES["csv"](ROWS), b",\r\n"),
        (b"", b"\n" * 700),
        (b"@relation a\n@attribute b string\n", b"%\n"),
        (SHAPES["Rasa (Markdown)"](ROWS), b"> x\n"),
        (b"# a\n- b\n# c\n- d\n- " + b"e" * 2**20 + b"\n", b"# f\n"),
    ],
)
def test_more_blank_lines_than_rows_are_refused(tmp_path: Path, content: bytes, blank: bytes) -> None:
    with pytest.raises(DatasetTooLarge, match="more than 100 lines are blank"):
        read(tmp_path, content + blank * 101, ParsingLimits(max_rows=100))


def count_lines(folder: Path, patch: pytest.MonkeyPatch, content: bytes) -> int:
    """How often a line is taken from a refused file."""
    lines, taken = TextFile.lines, list[str]()
    patch.setattr(TextFile, "lines", lambda *about: (taken.append(line) or line for line in lines(*about)))
    with pytest.raises(InvalidDataset):
        read(folder, content, ParsingLimits(max_rows=100))
    return len(taken)


@pytest.mark.parametrize("filler", ["x\n", "x,y,z\n", "[]\n", "%\n", " \n", "- intent: a\n", "> x\n"])
@pytest.mark.parametrize("written", ["csv", "jsonl", "ARFF", "fastText", "Rasa (Markdown)"])
def test_no_reading_goes_far_beyond_the_largest_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, filler: str
) -> None:
    assert count_lines(tmp_path, monkeypatch, SHAPES[written](ROWS) + filler.encode() * 40_000) < 20_000


@pytest.mark.parametrize(("head", "line"), [("", "[]\n"), ('text,label\n"', "a\n"), ("text,label\n", '"a\n')])
def test_no_row_is_sought_in_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, line: str) -> None:
    assert count_lines(tmp_path, monkeypatch, (head + line * 400_000).encode()) < 300_000


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("nlu:\n" + "- intent: a\n" * 101, "more than 100 rows"),
        ("nlu:\n- intent: a\n  examples: |\n" + "    - b\n" * 101, "more than 100 rows"),
        (json.dumps({"data": [[1]] * 101}), "more than 100 rows"),
        ("nlu:\n- intent: a\n" + "  b: c\n" * 1_000, "more than 2,000 values"),
    ],
)
def test_lists_of_more_items_than_rows_are_refused(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(DatasetTooLarge, match=told):
        read(tmp_path, content.encode(), ParsingLimits(max_rows=100))


def test_json_of_too_many_values_is_refused(tmp_path: Path) -> None:
    content = json.dumps({"data": [[0] * 50] * 300}).encode()
    with pytest.raises(DatasetTooLarge, match="more than 10,000 values"):
        read(tmp_path, content, ParsingLimits(max_rows=100))


GOOD = '{"text": "works «äöüß»", "label": "good"}\n{"text": "broke", "label": "bad"}\n'.encode()


def test_endless_other_keys_are_taken_and_ten_named(uploads: Uploads) -> None:
    lines = [b'{"text": "a", "label": "x", "key-%d": 0}\n' % number for number in range(500)]

    (warning,) = uploads.parse(b"".join(lines)).warnings

    assert warning.count("key-") == 10


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        (b'{"text": "a", "label": 1.5}', "label", "is a number"),
        (b'{"text": "a", "label": ["x", "y"]}', "label", "has several labels; Lens gives a text one label"),
        (b'{"text": "a", "label": [[1, 2, "x"]]}', "label", "marks parts of the text, as for entities"),
        (b'{"text": true, "label": "x"}', "text", "is true or false, not a string; put it in quotes"),
        (b'{"text": {"0": "a"}, "label": {"0": "x"}}', "text", "is an object, not a string; give each row a text"),
        (b'{"text": "a", "label": [{"name": "x", "start": 1, "end": 2}]}', "label", "marks parts of the text"),
        (b'{"text": "a", "label": {"x": 1}}', "label", "is an object"),
        (b'{"text": "a", "label": %b}' % (b"9" * 201), "label", "200 characters"),
        (b'{"text": 1, "label": "x"}', "text", "is a number"),
        (b'{"label": "x"}', "text", "is missing; keys found: 'label'"),
        (b'{"text": "a", "Label": "x"}', "label", "keys found: 'text', 'Label'"),
        (b'{"text": "a"}', "label", "is empty; give the row a label or delete it"),
        (b"{}", None, "keys found: none"),
        (b'{"text": "\\ud800", "label": "x"}', "text", "surrogate"),
        (b'{"text": "a", "label": "\\udc00"}', "label", "surrogate"),
        (b'{"text": NaN, "label": "x"}', "text", "is blank"),
        (b'{"text": "a", "label": NaN}', "label", "is empty"),
        (b'{"text": "a", "label": "x", "meta": {"k": 1, "k": 2}}', None, "has the key 'k' more than once"),
        (b'{"text": "a", "label": %b}' % (b"9" * 5_000), None, "more than 640 digits"),
        (b'{"text": "a", "label": "x", "deep": %b}' % (b"[" * 100_000 + b"]" * 100_000), None, "too deeply"),
        (b'["a", "x"]', None, "has no keys 'text', 'label'; keys found: 'column 1', 'column 2'"),
        (b'["a"]', None, "is not a JSON object"),
        (b"null", None, "is not a JSON object"),
        (b'{"text": "a", "label": "x"},', None, "is not valid JSON (Extra data at column 28, '…"),
        (b'{"text": "a", "label": "x"', None, "is not valid JSON"),
        (b'{"text": "a\tb", "label": "x"}', None, "is not valid JSON"),
        (b'\xef\xbb\xbf{"text": "a", "label": "x"}', None, "is not valid JSON"),
        (
            b'{"text": "caf\xe9", "label": "x"}',
            None,
            'is not UTF-8 at column 14, \'{"text": "caf\ufffd", "label": "x…\'; save',
        ),
        (b'{"text": "\xed\xa0\x80", "label": "x"}', None, "is not UTF-8"),
        (
            b'{"text": "%b", "label": "x"}' % (b" " * 2**20),
            None,
            "shorten it, or leave it out; if it is not so long, a line break is missing",
        ),
    ],
)
def test_bad_line_is_refused_with_row_and_line(uploads: Uploads, line: bytes, column: str | None, words: str) -> None:
    refusal = uploads.refuse(GOOD + b"\n" + line + b"\n")

    assert (refusal.row, refusal.field) == (2, f"dataset.{column}" if column else "dataset")
    assert str(refusal).startswith("line 4")
    assert words in str(refusal)


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ({"text": "a", "label": 0.5}, "examples.label"),
        ({"text": "a", "label": 10**700}, "examples.label"),
        ({"text": "a", "label": float("nan")}, "examples.label"),
        ({"text": "a", "label": b"x"}, "examples.label"),
        ({"text": "a\ud800", "label": "x"}, "examples.text"),
        ({"text": "a"}, "examples.label"),
        ("a", "examples"),
    ],
)
def test_bad_inline_example_is_refused_with_row(item: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidDataset) as refusal:
        parse_inline([{"text": "a", "label": 1}, item], ParsingLimits())

    assert (refusal.value.row, refusal.value.field) == (1, field)


@pytest.mark.parametrize(
    ("named", "field", "told"),
    [
        (("txt", "Labl"), "text_column", "did you mean 'text' and 'label'? (text_column)"),
        (("text", "lable"), "label_column", "did you mean 'label'? (label_column)"),
        (("text", "at.plaec"), "label_column", "name one of the columns found (text_column, label_column)"),
    ],
)
def test_column_that_no_row_has_is_one_fault(tmp_path: Path, named: tuple[str, str], field: str, told: str) -> None:
    rows = [{"text": f"{number}", "label": "x", "at": {"place": "y"}} for number in range(30)]
    with pytest.raises(InvalidDataset) as of_file:
        read(tmp_path, lines(rows), OWN, *named)
    with pytest.raises(InvalidDataset) as of_body:
        parse_inline(rows, OWN, columns=Named(*named))
    for one in (of_file.value, of_body.value):
        assert str(one).endswith(f"; columns found: 'text', 'label', 'at'; {told}")
        assert (one.field, one.problems) == (field, ())


# A folder for all examples of one test is enough: each example overwrites the upload.
ONE_FOLDER = [HealthCheck.function_scoped_fixture]

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
values = st.text(characters, min_size=1, max_size=40).filter(lambda value: not is_blank(value))
# Brackets and delimiters may make a list of labels: see the tests of these.
labels = values.filter(lambda label: not set(label) & set("[,;|"))
datasets = st.lists(st.tuples(values, labels), min_size=2, max_size=30)


@pytest.mark.parametrize("written_as", FORMATS)
@settings(max_examples=40, suppress_health_check=ONE_FOLDER, deadline=None)
@given(rows=datasets)
def test_rows_survive_writing_and_parsing(tmp_path: Path, written_as: str, rows: list[Row]) -> None:
    examples = Uploads(tmp_path).parse_rows(rows, written_as).examples

    assert [(example.text, example.label) for example in examples] == rows
    assert [example.row for example in examples] == list(range(len(rows)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(items=st.lists(st.dictionaries(st.sampled_from(["text", "label", "id"]), json_values), max_size=5))
def test_any_inline_examples_are_taken_or_refused(items: list[dict[str, object]]) -> None:
    refusal = None
    try:
        assert len(parse_inline(items, ParsingLimits()).examples) >= 2
    except InvalidDataset as error:
        refusal = error
    assert refusal is None or (str(refusal) and refusal.field.startswith(("examples", "text_column", "label_column")))
