"""Any rows survive writing and parsing; any bytes are taken or refused, and nothing else happens."""

from collections.abc import Callable
from pathlib import Path

import pytest
from dataset_uploads import FORMATS, Row, Uploads
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lens_engine.reading import InvalidDataset, ParsedDataset, ParsingLimits, parse_inline
from lens_engine.task.text_checks import is_blank

# A folder for all examples of one test is enough: each example overwrites the upload.
ONE_FOLDER = [HealthCheck.function_scoped_fixture]

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
values = st.text(characters, min_size=1, max_size=40).filter(lambda value: not is_blank(value))
# -1 means no label, and brackets and delimiters may make a list of labels: see the tests of these.
labels = values.filter(lambda label: label != "-1" and not set(label) & set("[,;|"))
datasets = st.lists(st.tuples(values, labels), min_size=2, max_size=30)

csv_like = st.lists(st.sampled_from([b"text", b"label", b",", b"\n", b"\r", b'"', b"a", b" ", b"\x00", b"\xff", b";"]))
json_like = st.lists(
    st.sampled_from(
        [b'{"text":', b'"a"', b',"label":', b"1", b"}", b"\n", b"NaN", b'"\\ud800"', b"[", b"{", b"\xff", b" ", b"true"]
    )
)
MARKS = [b"", b"text,label\n", b'{"text":"a","label":"x"}\n', b"{", b"[", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b"]


def assert_taken_or_refused(parse: Callable[[], ParsedDataset], field: str = "dataset") -> None:
    refusal = None
    try:
        assert len(parse().examples) >= 2
    except InvalidDataset as error:
        refusal = error
    assert refusal is None or (str(refusal) and refusal.field.startswith((field, "text_column", "label_column")))


@pytest.mark.parametrize("written_as", FORMATS)
@settings(max_examples=40, suppress_health_check=ONE_FOLDER, deadline=None)
@given(rows=datasets)
def test_rows_survive_writing_and_parsing(tmp_path: Path, written_as: str, rows: list[Row]) -> None:
    examples = Uploads(tmp_path).parse_rows(rows, written_as).examples

    assert [(example.text, example.label) for example in examples] == rows
    assert [example.row for example in examples] == list(range(len(rows)))


@settings(max_examples=80, suppress_health_check=ONE_FOLDER, deadline=None)
@given(mark=st.sampled_from(MARKS), content=st.binary(max_size=300))
def test_any_bytes_are_taken_or_refused(tmp_path: Path, mark: bytes, content: bytes) -> None:
    assert_taken_or_refused(lambda: Uploads(tmp_path).parse(mark + content))


@settings(max_examples=80, suppress_health_check=ONE_FOLDER, deadline=None)
@given(content=csv_like | json_like, has_header=st.booleans())
def test_anything_like_a_dataset_is_taken_or_refused(tmp_path: Path, content: list[bytes], has_header: bool) -> None:
    assert_taken_or_refused(lambda: Uploads(tmp_path).parse(b"text,label\n" * has_header + b"".join(content)))


@settings(max_examples=8, suppress_health_check=ONE_FOLDER, deadline=None)
@given(content=st.binary(max_size=300))
def test_any_bytes_between_parquet_marks_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidDataset):
        Uploads(tmp_path).parse(b"PAR1" + content + b"PAR1")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None)
@given(items=st.lists(st.dictionaries(st.sampled_from(["text", "label", "id"]), json_values), max_size=5))
def test_any_inline_examples_are_taken_or_refused(items: list[dict[str, object]]) -> None:
    assert_taken_or_refused(lambda: parse_inline(items, ParsingLimits()), "examples")
