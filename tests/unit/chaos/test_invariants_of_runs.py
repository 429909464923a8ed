"""Whether the checks of a chaos run see what they are made to see."""

from pathlib import Path

from tests.chaos.history import Accepted, History
from tests.chaos.submissions import VARIANTS
from tests.chaos.verdict import check_traces
from tests.chaos.watch import Streaks
from tests.moves import find_false_moves


def test_a_path_with_a_rescue_is_true() -> None:
    moves = [
        (None, "queued", 0),
        ("queued", "running", 1),
        ("running", "queued", 1),
        ("queued", "running", 2),
        ("running", "cancelling", 2),
        ("cancelling", "cancelled", 2),
    ]

    assert find_false_moves(moves) == []


def test_a_move_out_of_an_end_is_false() -> None:
    moves = [(None, "queued", 0), ("queued", "cancelled", 0), ("cancelled", "running", 1)]

    assert find_false_moves(moves) == ["went from cancelled to running"]


def test_a_gap_in_the_path_is_false() -> None:
    assert find_false_moves([(None, "queued", 0), ("running", "succeeded", 0)]) == ["left running while queued"]


def test_an_attempt_without_a_claim_is_false() -> None:
    assert find_false_moves([(None, "queued", 0), ("queued", "running", 2)]) == [
        "became running in attempt 2 after 1 claims"
    ]


def test_two_ids_for_one_key_violate_i2() -> None:
    history = History()
    for id_ in ("sel_1", "sel_2"):
        history.accept(Accepted(id_, "ada", "key", VARIANTS[0]))

    assert [(one.invariant, one.ids) for one in history.violations] == [("I2", ("sel_1", "sel_2"))]


def test_the_same_violation_is_reported_once() -> None:
    history = History()
    for _ in range(3):
        history.violate("I6", "a dead lease", "sel_1")

    assert len(history.violations) == 1


def test_a_streak_ends_when_a_thing_is_not_seen() -> None:
    streaks = Streaks()
    streaks.see({"a", "b"}, 10.0)

    assert streaks.see({"a"}, 15.0) == {"a": 5.0}
    assert streaks.see({"a", "b"}, 20.0) == {"a": 10.0, "b": 0.0}


def test_an_outage_begins_every_streak_anew() -> None:
    streaks = Streaks()
    streaks.see({"a"}, 10.0)
    streaks.forget()

    assert streaks.see({"a"}, 50.0) == {"a": 0.0}


def test_a_file_that_is_left_violates_i8(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "upload").touch()
    history = History()

    check_traces(tmp_path, [], history)

    assert [one.detail for one in history.violations] == ["file left: spool/upload"]
