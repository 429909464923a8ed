"""The Parquet reader: types, columns and damage of trusted files, and the refusal of strangers' files."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from dataset_uploads import Uploads, write_parquet, write_table

from lens_engine.reading import InvalidDataset, ParsingLimits, UnsupportedDatasetFormat, parse_dataset, read_texts
from lens_engine.reading.rows import unpack_cells

TEXTS = ["works", "broke"]
GOOD = write_parquet([("works", "good"), ("broke", "bad")])


def write_columns(text: object, label: object, **others: object) -> bytes:
    return write_table(pyarrow.table({"text": text, "label": label, **others}))


def test_file_of_a_stranger_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(b"PAR1")

    with pytest.raises(UnsupportedDatasetFormat, match="save it as CSV or JSONL"):
        parse_dataset(path, ParsingLimits())


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


def test_unusable_columns_are_refused_with_those_found(uploads: Uploads) -> None:
    refusal = uploads.refuse(write_table(pyarrow.table({"words": TEXTS, "label": TEXTS})))
    assert "no column named 'text'; columns found: 'words', 'label'" in str(refusal)


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
    cells = [unpack_cells(row.cells, row.text, 2, found.text_place) for row in found.rows]
    assert cells == [[text, odd] for text, odd in zip(TEXTS, [shown, None], strict=True)]
