"""Words of the pages: how long a preset takes, and what of a file a person should look at."""

from pathlib import Path

import pytest

from app.pages.rendering import describe_span, is_guess
from lens_engine.files import ParsingLimits, parse_dataset

GUESS, KNOWN = (120.0, 720.0), (1500.0, 1500.0)


@pytest.mark.parametrize(
    ("lasts", "limit", "says"),
    [
        (GUESS, None, "2 to 12 minutes"),
        (GUESS, 300.0, "2 to 5 minutes"),
        (GUESS, 3600.0, "2 to 12 minutes"),
        (GUESS, 60.0, "about 1 minute"),
        (GUESS, 125.0, "about 2 minutes"),
        (KNOWN, None, "about 25 minutes"),
        (KNOWN, 600.0, "about 10 minutes"),
        (KNOWN, 3600.0, "about 25 minutes"),
    ],
)
def test_preset_takes_no_longer_than_its_limit(lasts: tuple[float, float], limit: float | None, says: str) -> None:
    assert describe_span(lasts, limit) == says


def test_what_was_left_out_or_taken_needs_no_look(tmp_path: Path) -> None:
    path = tmp_path / "tickets.csv"
    rows = [f"{n};the parcel number {n} is late;{'delivery' if n % 2 else 'billing'}" for n in range(40)]
    odd = ["", "40;;delivery", "41;a parcel\u200b;delivery"]
    path.write_text("\n".join(["id;message;topic", *rows, *odd]), "utf-8")
    notes = parse_dataset(path, ParsingLimits()).warnings
    assert len(notes) == 6
    assert not any(map(is_guess, notes))


def test_guess_of_a_column_is_marked() -> None:
    assert is_guess("read texts from 'b' (the longest values), labels from 'c' (few distinct values: 2 in 30 rows)")
    assert not is_guess("read texts from 'text' (a usual name), labels from 'topic' (a usual name)")
    of_kind = "the file is read as an ARFF file: texts from 'b' ({}), labels from 'c' (as such files have it)"
    assert is_guess(of_kind.format("the longest values, 25 characters on average"))
    assert not is_guess(of_kind.format("a usual name"))
