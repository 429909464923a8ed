"""Every shape of file gives the same rows, and says in one line what it took for texts and labels."""

import json
from pathlib import Path
from typing import Any

import pytest
from quirky_files import QUIRKS, write_quirky
from written_shapes import LABELS, ROWS, SHAPES, array, label_studio, lines

from lens_engine.errors import InvalidDataset
from lens_engine.reading import DatasetTooLarge, Named, ParsedDataset, ParsingLimits, parse_dataset, read_texts
from lens_engine.reading.shapes.text_file import TextFile

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


@pytest.mark.parametrize(
    ("value", "label"),
    [
        *[(True, "true"), (1.0, "1"), (7, "7"), (["x"], "x"), ("['x']", "x"), ('["x"]', "x"), ("[x]", "[x]")],
        *[({"name": "x", "color": "f00"}, "x"), ('{"x": 1}', '{"x": 1}')],
    ],
)
def test_value_of_a_label_is_read_as_one(tmp_path: Path, value: object, label: str) -> None:
    found = read(tmp_path, lines([{"text": f"text {number}", "label": value} for number in range(3)]))
    assert {one.label for one in found.examples} == {label}


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


@pytest.mark.parametrize("others", [["0", "1"], ["1", "-2"], ["1"], ["+1"]])
def test_minus_one_beside_few_or_negative_numbers_is_a_label(tmp_path: Path, others: list[str]) -> None:
    values: list[object] = ["-1", *others] * 12
    for limits in (OWN, ParsingLimits(skips_unlabelled=True)):
        found = read(tmp_path, unlabelled(values), limits)
        assert {one.label for one in found.examples} == {"-1", *others}
        assert not found.unlabelled
        assert any("-1 is read as a label" in warning for warning in found.warnings) == ("-2" not in others)


@pytest.mark.parametrize("empty", ["NA", "NULL", "\\N"])
def test_label_that_may_mean_none_is_read_with_a_note(tmp_path: Path, empty: str) -> None:
    found = read(tmp_path, unlabelled([empty, "x", "y"] * 4))
    assert {one.label for one in found.examples} == {empty, "x", "y"}
    assert any(warning.startswith(f"{empty} is read as a label") for warning in found.warnings)


@pytest.mark.parametrize("separator", ["|", ";", ", "])
def test_values_that_are_lists_of_labels_are_refused_as_such(tmp_path: Path, separator: str) -> None:
    values: list[object] = ["billing", "delivery", f"billing{separator}urgent", f"delivery{separator}urgent"] * 10
    with pytest.raises(
        InvalidDataset, match=r"20 rows of 40 have several labels in the column 'label'.*'label: urgent'"
    ):
        read(tmp_path, unlabelled(values))
    found = read(tmp_path, unlabelled(values), OWN, None, "label: urgent")
    assert [one.label for one in found.examples[:4]] == ["not urgent", "not urgent", "urgent", "urgent"]


def test_rows_with_lists_of_labels_are_refused_as_such(tmp_path: Path) -> None:
    values: list[object] = [["billing"], ["delivery", "urgent"], [], ["urgent"]] * 10
    with pytest.raises(InvalidDataset, match=r"10 rows of 40 have several labels"):
        read(tmp_path, unlabelled(values))
    found = read(tmp_path, unlabelled(values), OWN, "text", "label: urgent")
    assert [one.label for one in found.examples[:4]] == ["not urgent", "urgent", "not urgent", "urgent"]


@pytest.mark.parametrize(
    "labels",
    [
        *(["user|login", "pay|bill", "x"], ["Sci/Tech", "Sports"], ["food, drinks", "rooms, beds"]),
        ["Yes", "No", "Yes, definitely", "Yes, somewhat"],
    ],
)
def test_label_with_a_delimiter_stays_one(tmp_path: Path, labels: list[str]) -> None:
    found = read(tmp_path, unlabelled([*labels] * 10))
    assert {one.label for one in found.examples} == set(labels)


def test_flags_of_which_rows_have_several_are_refused_with_each(tmp_path: Path) -> None:
    rows = [f"some text {number},{number % 2},{number % 3 % 2},{number % 5 % 2}" for number in range(30)]
    content = "\n".join(["body,toxic,insult,threat", *rows]).encode()
    with pytest.raises(InvalidDataset, match="rows may have several labels: of 'toxic', 'insult', 'threat'"):
        read(tmp_path, content)
    assert read(tmp_path, content, OWN, None, "toxic").columns == ("body", "toxic")


@pytest.mark.parametrize(
    "more", [{"tags": ["a", "b"]}, {"spans": [{"start": 1}, {"start": 2}]}, {"meta": {"k": [[1], [2]]}}]
)
def test_only_object_of_a_file_is_a_row_if_it_has_a_text(tmp_path: Path, more: dict[str, Any]) -> None:
    (tmp_path / "upload").write_text(json.dumps({"text": "Sunny", **more}))
    assert [row.text for row in read_texts(tmp_path / "upload", OWN).rows] == ["Sunny"]


def test_nested_values_have_dotted_names(tmp_path: Path) -> None:
    items = [{"fields": {"note": f"some words {n}"}, "meta": {"sort": "ab"[n % 2], "id": n}} for n in range(12)]
    assert read(tmp_path, lines(items)).columns == ("fields.note", "meta.sort")
    assert len(read(tmp_path, lines(items), OWN, "fields.note", "meta.sort").examples) == 12


def test_annotators_who_differ_give_no_label(tmp_path: Path) -> None:
    items: list[Any] = label_studio(ROWS)
    for item in items[:2]:
        item["annotations"] += [{"result": [{"from_name": "topic", "value": {"choices": ["other"]}}]}]
    items[2]["annotations"][0]["was_cancelled"] = True
    found = read(tmp_path, array(items))
    assert len(found.examples) == 27
    assert "2 rows whose annotators gave different labels left out" in found.warnings


def test_binary_answers_of_prodigy_are_a_label_and_its_opposite(tmp_path: Path) -> None:
    answers = ["accept", "reject", "ignore"]
    found = read(
        tmp_path, lines([{"text": f"text {n}", "label": "billing", "answer": answers[n % 3]} for n in range(12)])
    )
    assert [one.label for one in found.examples] == ["billing", "not billing"] * 4
    assert "4 rows whose answer is 'ignore' left out" in found.warnings


def test_list_of_far_more_rows_than_others_is_read_with_a_note(tmp_path: Path) -> None:
    about = {"intents": [{"name": "billing"}], "utterances": [{"text": text, "intent": label} for text, label in ROWS]}
    found = read(tmp_path, array(about))
    assert len(found.examples) == 30
    assert "the rows of 'utterances' (30 rows) are read, and not those of 'intents' (1 row)" in found.warnings


@pytest.mark.parametrize("is_listed", [True, False])
def test_texts_of_intents_are_read_among_other_lists(tmp_path: Path, *, is_listed: bool) -> None:
    """As Watson and Snips write them; the texts of Snips are in pieces between their entities."""
    intents: Any = [{"intent": one, "examples": [{"text": f"{one} {n}"} for n in range(5)]} for one in LABELS]
    if not is_listed:
        pieces = {one: [[{"text": f"{one} "}, {"text": str(n), "entity": "n"}] for n in range(5)] for one in LABELS}
        intents = {one: {"utterances": [{"data": data} for data in pieces[one]]} for one in LABELS}
    other = {"entities": {"room": {"data": [{"value": "hall"}]}}, "dialog_nodes": [{"title": "x"}] * 40}
    found = read(tmp_path, array({"name": "w", **other, "intents": intents}))
    assert [(one.text, one.label) for one in found.examples] == [
        (f"{one} {n}", one) for one in LABELS for n in range(5)
    ]


def test_lists_of_several_splits_without_train_are_refused_with_their_names(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidDataset, match=r"several lists in it may be the rows: 'dev' \(30 rows\), 'test' \(4 rows\)"
    ):
        read(tmp_path, array({"dev": list(ROWS), "test": [["x", "y"]] * 4}))


def test_object_without_rows_is_refused_with_its_keys(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match="no list of rows is found in it; keys found: 'name', 'size'"):
        read(tmp_path, array({"name": "x", "size": {"a": 1}}))


def test_words_of_entities_stay_in_texts_of_rasa(tmp_path: Path) -> None:
    content = b'nlu:\n- intent: trip\n  examples: |\n    - to [Rome](city) by [train]{"entity": "by"}\n    - home\n'
    assert [one.text for one in read(tmp_path, content).examples] == ["to Rome by train", "home"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r'text: "a\"\nb"', 'a"\nb'),
        ("text: |-\n     a\n\n     b", "a\n\nb"),
        ("text: 'it''s'", "it's"),
    ],
)
def test_texts_of_rasa_are_meant_as_in_yaml_and_stories_are_none(tmp_path: Path, written: str, text: str) -> None:
    stories = "stories:\n- story: way\n  steps:\n  - intent: trip\n  - action: utter_bye\n"
    intent = f"nlu:\n- intent: trip\n  examples:\n  - {written}\n    metadata:\n      by: me\n  - home\n"
    assert [one.text for one in read(tmp_path, f"{stories}{intent}{stories}".encode()).examples] == [text, "home"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("> note\n\n# trip\n- to {@city=Rome} now\n# ? how\n- so\n# home\n- by foot\n", "to Rome now"),
        ("# mine\n\nall:\n- intent: trip\n  examples: [no, 12.30, to Rome]\n- intent: home\n  examples: [a]\n", "no"),
        (
            "nlu:\n- intent: trip\n  examples: |\n\n    - [Rome](city): now\n- intent: home\n  examples:\n  - a\n",
            "Rome: now",
        ),
    ],
)
def test_intents_of_chatbots_are_read(tmp_path: Path, written: str, text: str) -> None:
    found = read(tmp_path, written.encode())
    assert (found.examples[0].text, found.examples[0].label) == (text, "trip")
    assert {one.label for one in found.examples} == {"trip", "home"}


@pytest.mark.parametrize("part", ["    - a\n  - b: [", "&a [x]\n  more: *a", "[" * 200 + "]" * 200])
def test_intents_that_are_no_plain_yaml_are_refused(tmp_path: Path, part: str) -> None:
    with pytest.raises(InvalidDataset, match="the file is no valid YAML"):
        read(tmp_path, f"nlu:\n- intent: trip\n  examples: {part}\n".encode())


@pytest.mark.parametrize("bad", ["a line without a label", "__label__, no name"])
def test_line_of_fast_text_without_a_label_costs_one_row(tmp_path: Path, bad: str) -> None:
    written = [f"__label__{label}, {text}" for text, label in ROWS]
    found = read(tmp_path, "\n".join([*written[:12], bad, *written[12:]]).encode())
    assert [(one.text, one.label) for one in found.examples] == ROWS
    assert [one.text for one in found.unlabelled] == [bad]


def test_texts_one_a_line_with_commas_are_texts(tmp_path: Path) -> None:
    texts = [f"Well, number {number}, what{', then' * (number % 4)} is it?" for number in range(40)]
    (tmp_path / "upload").write_text("\n".join(texts))
    assert [row.text for row in read_texts(tmp_path / "upload", OWN).rows] == texts


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


@pytest.mark.parametrize("columns", [1_001, 300_000])
def test_too_many_columns_are_refused(tmp_path: Path, columns: int) -> None:
    with pytest.raises(InvalidDataset, match="more than 1,000 columns"):
        read(tmp_path, f"{'a,' * columns}\n{'b,' * columns}\n".encode())


def test_json_of_too_many_values_is_refused(tmp_path: Path) -> None:
    content = json.dumps({"data": [[0] * 50] * 300}).encode()
    with pytest.raises(DatasetTooLarge, match="more than 10,000 values"):
        read(tmp_path, content, ParsingLimits(max_rows=100))


@pytest.mark.parametrize("name", QUIRKS)
def test_quirks_of_public_files_are_read(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, write_quirky(name, ROWS))
    assert len(found.examples) == 30
    assert {one.label for one in found.examples} == set(QUIRKS[name][1] or LABELS)
