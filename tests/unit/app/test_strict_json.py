import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError, BadRequest, Unprocessable
from app.web.request_body import count_structure, parse_json
from lens_engine.files.strict_json import MAX_DEPTH

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(VALUES)
def test_every_json_value_comes_back(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        parse_json(raw)
    except AppError as refusal:
        assert refusal.status in {400, 422}  # noqa: PT017


@pytest.mark.parametrize(
    "raw",
    ["", "{", "NaN", "[Infinity]", "-Infinity", '{"a": 1, "a": 2}', "9" * 5000, "[" * 100_000, b"\xff", "\ufeff{}"],
)
def test_what_json_does_not_have_is_refused(raw: str | bytes) -> None:
    with pytest.raises(BadRequest):
        parse_json(raw)


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        ('"\\u0000"', ""),
        ('["a", "\\ud800"]', "/1"),
        ('{"a/b": {"c~d": "\\udfff"}}', "/a~1b/c~0d"),
        ('{"\\u0000": 1}', ""),
    ],
)
def test_text_that_cannot_be_stored_is_refused_with_its_place(raw: str, pointer: str) -> None:
    with pytest.raises(Unprocessable) as caught:
        parse_json(raw)
    assert [error["pointer"] for error in caught.value.errors] == [pointer]


DEEP = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)


@pytest.mark.parametrize(
    "raw", ['{"n": [0, -Infinity]}', '{"n": -1e999}', '{"n": ' + "9" * 5000 + "}", f'{{"a": {DEEP}}}']
)
def test_number_and_depth_that_no_store_keeps_are_refused(raw: str) -> None:
    with pytest.raises(BadRequest, match="the JSON "):
        parse_json(raw)


@pytest.mark.parametrize("raw", ["1.7e308", "-0.0", "1e-999", "9" * 640, "true", '"1e999"'])
def test_number_in_range_is_taken(raw: str) -> None:
    assert json.dumps(parse_json(raw))


def test_whole_surrogate_pair_is_one_character() -> None:
    assert parse_json('"\\ud83c\\udfac"') == "🎬"


def test_deep_json_costs_no_more_than_flat_json() -> None:
    numbers = ",".join(["1"] * 500_000)
    started = time.process_time()
    parse_json("[" * MAX_DEPTH + numbers + "]" * MAX_DEPTH)
    assert time.process_time() - started < 2


def number_of_containers(value: Any) -> int:
    if isinstance(value, list | dict):
        return 1 + sum(map(number_of_containers, value.values() if isinstance(value, dict) else value))
    return 0


@given(VALUES | st.recursive(st.sampled_from(['"[', "{\\", '\\"{']), lambda inner: st.lists(inner, max_size=4)))
def test_objects_and_lists_are_counted_outside_strings(value: Any) -> None:
    assert count_structure(json.dumps(value, ensure_ascii=False).encode())[0] == number_of_containers(value)


@pytest.mark.parametrize("raw", [b'"\\' + b'"\\' * 1_000_000, b'"' * 2_000_001, b"\\" * 2_000_000, b'"['])
def test_objects_in_broken_json_are_counted_in_linear_time(raw: bytes) -> None:
    started = time.process_time()
    assert count_structure(raw)[0] == 0
    assert time.process_time() - started < 2
