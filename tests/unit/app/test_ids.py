import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ids import NAME, decode_cursor, encode_cursor, is_id, new_id


def test_new_ids_are_valid_and_unique() -> None:
    made = {new_id("sel") for _ in range(1000)}
    assert len(made) == 1000
    assert all(is_id(id_) and id_.startswith("sel_") for id_ in made)


@pytest.mark.parametrize("value", ["", "sel_", "sel_1", "SEL_" + "0" * 26, "sel_" + "0" * 27, "sel_" + "0" * 25 + "\n"])
def test_other_string_is_not_an_id(value: str) -> None:
    assert not is_id(value)


def test_cursor_decodes_to_its_id() -> None:
    id_ = new_id("sel")
    assert decode_cursor(encode_cursor(id_)) == id_
    assert decode_cursor(encode_cursor("42")) == "42"


@given(st.text(max_size=50))
def test_any_text_as_cursor_decodes_or_is_refused(cursor: str) -> None:
    try:
        decoded = decode_cursor(cursor)
    except ValueError:
        return
    assert NAME.fullmatch(decoded)
