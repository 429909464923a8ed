"""The Parquet reader: types, bombs, damage, and a child that leaves nothing behind."""

import io
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow
import pyarrow.parquet
import pytest
from dataset_uploads import Uploads, write_parquet, write_table

from lens_engine.reading import DatasetTooLarge, InvalidDataset, ParsingLimits

TEXTS = ["works", "broke"]
GOOD = write_parquet([("works", "good"), ("broke", "bad")])


def write_columns(text: object, label: object, **others: object) -> bytes:
    return write_table(pyarrow.table({"text": text, "label": label, **others}))


def write_repeated(table: pyarrow.Table, times: int) -> bytes:
    """A file of `times` row groups, each of which packs to almost nothing."""
    file = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(file, table.schema) as writer:
        for _ in range(times):
            writer.write_table(table)
    return file.getvalue()


def as_strings(values: list[bytes]) -> pyarrow.Array:
    """Strings that pyarrow does not check."""
    return pyarrow.array(values, pyarrow.binary()).view(pyarrow.string())


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
        ("label", pyarrow.array([1.0, 2.0])),
        ("label", pyarrow.array([True, False])),
        ("label", pyarrow.array([0, 1], pyarrow.date32())),
        ("label", pyarrow.array([b"x", b"y"])),
        ("label", pyarrow.array([["x"], ["y"]])),
        ("label", pyarrow.array([{"label": "x"}, {"label": "y"}])),
        ("label", pyarrow.array([bytes(16), bytes(16)], pyarrow.uuid())),
        ("text", pyarrow.array([1, 2])),
        ("text", pyarrow.array([b"x", b"y"])),
        ("text", pyarrow.array([[("text", "x")], []], pyarrow.map_(pyarrow.string(), pyarrow.string()))),
        ("text", pyarrow.array(["1", "2"], pyarrow.json_())),
    ],
)
def test_column_of_another_type_is_refused_by_name(uploads: Uploads, column: str, values: pyarrow.Array) -> None:
    columns = {"text": TEXTS, "label": ["x", "y"], column: values}

    refusal = uploads.refuse(write_table(pyarrow.table(columns)))

    assert (refusal.field, refusal.row) == (f"dataset.{column}", None)
    assert f"the column `{column}` has the type" in str(refusal)


def test_nested_and_odd_columns_that_are_not_used_do_no_harm(uploads: Uploads) -> None:
    nested = pyarrow.array([{"text": ["x"]}, {"text": []}])
    dataset = uploads.parse(write_columns(TEXTS, ["x", "y"], nested=nested, raw=[b"\xff", None]))

    assert dataset.warnings == ("columns other than text and label are not used: 'nested', 'raw'",)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["Text", "label"], "rename 'Text' to 'text'"),
        (["text", "class"], "columns found: 'text', 'class'"),
        (["text", "label", "label"], "'label' is there more than once"),
        (["text", "label", "id", "id"], "'id' is there more than once"),
        (["x" * 5_000, "label"], f"'{'x' * 39}…'"),
        ([str(number) for number in range(1_200)], "more than 1,000 columns"),
    ],
)
def test_unusable_columns_are_refused_with_those_found(uploads: Uploads, names: list[str], words: str) -> None:
    table = pyarrow.Table.from_arrays([pyarrow.array(["x", "y"])] * len(names), names=names)

    assert words in str(uploads.refuse(write_table(table)))


def test_long_names_that_begin_alike_are_not_taken_for_one(uploads: Uploads) -> None:
    others = {f"{'x' * 5_000}{end}": ["a", "b"] for end in "12"}

    assert uploads.parse(write_columns(TEXTS, ["x", "y"], **others)).examples


@pytest.mark.parametrize("bad", [b"caf\xe9", b"\xed\xa0\x80"])
def test_string_that_is_not_utf8_is_refused_with_its_row(uploads: Uploads, bad: bytes) -> None:
    texts = as_strings([b"fine"] * 1_500 + [bad, b"fine", bad])

    for column in (texts, texts.dictionary_encode()):
        refusal = uploads.refuse(write_columns(column, ["x"] * 1_503))
        assert refusal.row == 1_500
        assert "UTF-8" in str(refusal)


def test_too_many_rows_are_refused_from_the_metadata(uploads: Uploads) -> None:
    content = write_repeated(pyarrow.table({"text": ["x" * 1_000] * 50_000, "label": ["y"] * 50_000}), 3)

    refusal = uploads.refuse(content)

    assert isinstance(refusal, DatasetTooLarge)
    assert "150,000 rows" in str(refusal)


def test_bomb_is_refused_within_little_memory(tmp_path: Path) -> None:
    """2 GB of text in a small file; measured in a process of its own, whose peak nothing else has raised."""
    table = pyarrow.table({"text": ["x" * 19_999] * 5_000, "label": ["y"] * 5_000})
    bomb = tmp_path / "bomb"
    bomb.write_bytes(write_repeated(table, 20))
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from lens_engine.reading import DatasetTooLarge, ParsingLimits, parse_dataset\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    parse_dataset(Path(sys.argv[1]), ParsingLimits())\n"
        "except DatasetTooLarge:\n"
        "    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "    assert after - before < 50_000, after - before\n"
        "    assert child < 400_000, child\n"
        "    assert 'pyarrow' not in sys.modules and 'torch' not in sys.modules\n"
        "else:\n"
        "    raise AssertionError('the bomb was taken')\n"
    )

    assert bomb.stat().st_size < 2_000_000
    subprocess.run([sys.executable, "-c", program, str(bomb)], check=True)


def test_row_group_too_big_for_memory_is_refused(uploads: Uploads) -> None:
    content = write_columns(pyarrow.array(["x" * 1_000_000] * 300), ["y"] * 300)

    refusal = uploads.refuse(content, ParsingLimits(parquet_memory_bytes=448 * 2**20))

    assert type(refusal) is InvalidDataset
    assert refusal.row is None


def test_memory_too_small_to_start_is_a_refusal(uploads: Uploads) -> None:
    assert "Parquet" in str(uploads.refuse(GOOD, ParsingLimits(parquet_memory_bytes=64 * 2**20)))


def test_late_child_is_killed_and_the_limit_named(uploads: Uploads) -> None:
    refusal = uploads.refuse(GOOD, ParsingLimits(parquet_seconds=0.001))

    assert "longer than 0.001 seconds" in str(refusal)


@pytest.mark.parametrize(
    "content",
    [
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1" + bytes(1_000) + b"PAR1",
        b"PAR1" + b"\xff" * 1_000 + b"\x10\x00\x00\x00PAR1",
        GOOD[:-1],
        GOOD[: len(GOOD) // 2],
        GOOD[:4] + bytes(len(GOOD) - 300) + GOOD[-296:],
    ],
)
def test_damaged_file_is_refused(uploads: Uploads, content: bytes) -> None:
    refusal = uploads.refuse(content)

    assert type(refusal) is InvalidDataset
    assert "damaged" in str(refusal)


@pytest.mark.parametrize("seed", range(12))
def test_file_with_flipped_bytes_is_read_or_refused(uploads: Uploads, seed: int) -> None:
    content = bytearray(GOOD)
    for step in range(1, 6):
        content[4 + (seed * 7_919 + step * 104_729) % (len(content) - 8)] ^= 1 << (seed + step) % 8

    outcome = uploads.try_to_parse(bytes(content))

    assert isinstance(outcome, InvalidDataset) or len(outcome.examples) >= 2


@pytest.mark.parametrize("content", [GOOD, GOOD[:-1], write_parquet([("a", "")] * 20)])
def test_nothing_is_left_behind(
    uploads: Uploads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    descriptors = os.listdir("/proc/self/fd")

    uploads.try_to_parse(content)

    assert not any(temporary.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["temporary", "upload"]
    assert os.listdir("/proc/self/fd") == descriptors
    assert not [child for child in psutil.Process().children() if "parquet_child.py" in " ".join(child.cmdline())]


def test_child_gets_no_secrets(uploads: Uploads, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A start-up hook that the child imports writes down what it was given."""
    seen = tmp_path / "environment"
    (tmp_path / "sitecustomize.py").write_text(f"import os; open({str(seen)!r}, 'w').write(repr(dict(os.environ)))")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LENS_DATABASE_URL", "postgresql://lens:hunter2@localhost/lens")

    uploads.parse(GOOD)

    assert "PYTHONPATH" in seen.read_text()
    assert "hunter2" not in seen.read_text()


def test_limits_of_this_process_are_left_alone(uploads: Uploads) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)

    uploads.parse(GOOD)

    assert resource.getrlimit(resource.RLIMIT_AS) == before
