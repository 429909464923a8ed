"""Numbers as headers, cursors and forms write them."""

import pytest

from app.errors import BadRequest
from app.web.parameters import read_last_number, read_number


@pytest.mark.parametrize(("written", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_ascii_digits_are_a_number(written: str, number: int) -> None:
    assert read_number(written, 18) == read_last_number(written, 18, "cursor", "events") == number


@pytest.mark.parametrize(
    "written", ["", "²", "٣", "１", "-1", "+1", " 1", "1\n", "1_0", "1e3", "0x1", "9" * 19, "9" * 5000]
)
def test_anything_else_is_none(written: str) -> None:
    assert read_number(written, 18) is None
    with pytest.raises(BadRequest, match="`cursor` does not belong to a list of events"):
        read_last_number(written, 18, "cursor", "events")
