"""Every shape of file gives the same rows, and says in one line what it took for texts and labels."""

import json
from pathlib import Path
from typing import Any

import pytest
from written_shapes import LABELS, ROWS, SHAPES, lines

from lens_engine.errors import InvalidDataset
from lens_engine.reading import DatasetTooLarge, Named, ParsedDataset, ParsingLimits, parse_dataset, read_texts
from lens_engine.reading.text_file import TextFile

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
    "objects one after another",
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


@pytest.mark.parametrize("written", SHAPES)
def test_cut_file_of_every_shape_is_refused_or_read(tmp_path: Path, written: str) -> None:
    content = SHAPES[written](ROWS)
    for end in range(1, len(content), max(len(content) // 12, 1)):
        try:
            found = read(tmp_path, content[:end])
        except InvalidDataset:
            continue
        assert {one.label for one in found.examples} <= {*LABELS, ""} or found


def unlabelled(values: list[object], **more: Any) -> bytes:
    return lines([{"text": f"text {number}", "label": value, **more} for number, value in enumerate(values)])


@pytest.mark.parametrize("empty", [None, "", " ", float("nan"), -1, "-1", []])
def test_rows_without_a_label_are_kept_aside_at_any_share_if_asked(tmp_path: Path, empty: object) -> None:
    values = [empty if number % 2 else number // 2 % 3 for number in range(40)]
    limits = ParsingLimits(skips_unlabelled=True)
    found = read(tmp_path, unlabelled(values), limits)
    assert [one.label for one in found.examples] == [str(value) for value in values[::2]]
    assert [(one.row, one.text) for one in found.unlabelled] == [(row, f"text {row}") for row in range(1, 40, 2)]
    assert any(warning.startswith("20 rows without a label kept aside (line 2,") for warning in found.warnings)
    why = "is -1, which is read as no label" if str(empty) == "-1" else "is empty"
    with pytest.raises(InvalidDataset, match=rf"`label` {why}; .*rows\.unlabelled to skip"):
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
def test_no_row_is_looked_for_in_a_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str, line: str
) -> None:
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
