"""Words for faults of a body: no sentence of Pydantic reaches a client."""

from typing import Any, ClassVar, Literal

import pytest
from pydantic import Field, ValidationError

from app.errors import Unprocessable
from app.web.validation import Incoming, read_model


class Inner(Incoming):
    beam_width: int = Field(default=4, ge=1, le=9)
    words: dict[str, str] = Field(default_factory=dict, max_length=2)


class Outer(Incoming):
    one_of = ("file", "address")
    other_names: ClassVar = {"path": "file"}

    inner: Inner
    file: str | None = Field(default=None, min_length=1, max_length=3)
    address: str | None = None
    kind: Literal["a", "b"] = "a"
    names: list[str] | None = Field(default=None, min_length=1, max_length=2)
    rows: list[Any] = Field(default_factory=list)
    is_dry: bool = False


GOOD: dict[str, Any] = {"inner": {}, "file": "x"}


def refuse(value: Any, *prefix: str) -> list[tuple[str, str]]:
    with pytest.raises(Unprocessable) as refused:
        read_model(Outer, value, *prefix)
    return [(item["pointer"], item["detail"]) for item in refused.value.errors]


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"inner": 3}, "/inner", "`inner` must be an object"),
        ({"file": 3}, "/file", "`file` must be a string"),
        ({"file": ""}, "/file", "`file` is empty"),
        ({"file": "abcd"}, "/file", "`file` has more than 3 characters"),
        ({"kind": "c"}, "/kind", "`kind` must be 'a' or 'b'"),
        ({"names": "a"}, "/names", "`names` must be a list of strings"),
        ({"names": ["a", 1]}, "/names/1", "`names[1]` must be a string"),
        ({"names": []}, "/names", "`names` is empty"),
        ({"names": ["a"] * 3}, "/names", "`names` has more than 2 items"),
        ({"rows": {}}, "/rows", "`rows` must be a list"),
        ({"is_dry": "yes"}, "/is_dry", "`is_dry` must be true or false"),
        ({"inner": {"words": []}}, "/inner/words", "`words` must be an object"),
        ({"inner": {"words": {"a": 1}}}, "/inner/words/a", "`words.a` must be a string"),
        ({"inner": {"beam_width": 1.5}}, "/inner/beam_width", "`beam_width` must be a whole number"),
        ({"inner": {"beam_width": 0}}, "/inner/beam_width", "`beam_width` must be at least 1"),
        ({"inner": {"beam_width": 10}}, "/inner/beam_width", "`beam_width` must be at most 9"),
        ({"address": "x"}, "", "give either `file` or `address`, not both"),
        ({"file": None}, "", "`file` (or `address`) is missing"),
        ({"knid": "a"}, "/knid", "unknown field `knid`; did you mean `kind`?"),
        ({"Kind": "a"}, "/Kind", "unknown field `Kind`; did you mean `kind`?"),
        ({"path": "a"}, "/path", "unknown field `path`; did you mean `file`?"),
        ({"beam_width": 4}, "/beam_width", "unknown field `beam_width`; did you mean `inner.beam_width`?"),
        ({"zzz": 1}, "/zzz", "unknown field `zzz`; the fields are inner, file, address, kind, names, rows, is_dry"),
        ({"inner": {"beam_widht": 4}}, "/inner/beam_widht", "unknown field `beam_widht`; did you mean `beam_width`?"),
    ],
)
def test_bad_value_or_unknown_field_is_refused_in_words(changes: dict[str, Any], pointer: str, detail: str) -> None:
    assert refuse({**GOOD, **changes}) == [(pointer, detail)]


def test_missing_fields_are_all_named() -> None:
    assert refuse({"names": ["a"]}) == [("", "`file` (or `address`) is missing"), ("/inner", "`inner` is missing")]


@pytest.mark.parametrize("value", [None, [], "x", 3, True])
def test_body_that_is_no_object_is_refused(value: Any) -> None:
    assert refuse(value) == [("", "the body must be an object")]


def test_part_of_a_body_is_named_by_its_place() -> None:
    assert refuse([], "spec") == [("/spec", "`spec` must be an object")]
    assert refuse({**GOOD, "kind": 1}, "spec") == [("/spec/kind", "`kind` must be 'a' or 'b'")]


def test_long_or_unprintable_name_is_shown_short_and_plain() -> None:
    [(_, detail)] = refuse({**GOOD, "a\x1b" + "b" * 100: 1})
    assert detail.startswith("unknown field `a?bbb")
    assert len(detail.partition(";")[0]) < 60


def test_unknown_fields_are_counted_only_as_far_as_they_are_named() -> None:
    with pytest.raises(Unprocessable) as caught:
        read_model(Outer, {**GOOD, **{f"field{number}": 1 for number in range(1000)}})

    cause = caught.value.__cause__
    assert isinstance(cause, ValidationError)
    assert cause.error_count() == len(caught.value.errors) == 10
