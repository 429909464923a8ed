"""Whether a chaos run plans its faults from the seed, and sees what it is made to see."""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tests.chaos.faults import FAULTS
from tests.chaos.history import Accepted, History
from tests.chaos.nemesis import FAULT_SECONDS, PAUSE_SECONDS, plan_faults
from tests.chaos.stores import Stores
from tests.chaos.submissions import Variant
from tests.chaos.verdict import Connection, check_traces, compare_digests
from tests.chaos.watch import Watch
from tests.moves import find_false_moves


def test_a_longer_run_begins_like_a_shorter_one_of_the_same_seed() -> None:
    short = plan_faults(3, 300)

    assert plan_faults(3, 600)[: len(short)] == short
    assert plan_faults(4, 300) != short


def test_an_hour_has_every_fault_within_the_bounds() -> None:
    faults = plan_faults(5, 3600)
    times = [0.0, *(fault.at for fault in faults), 3600.0]

    assert {fault.kind for fault in faults} == set(FAULTS)
    assert all(FAULT_SECONDS[0] <= fault.seconds <= FAULT_SECONDS[1] for fault in faults)
    assert all(before < after <= before + PAUSE_SECONDS[1] for before, after in itertools.pairwise(times))


def test_moves_that_do_not_continue_the_path_are_false() -> None:
    path = [(None, "queued", 0), ("queued", "running", 1), ("running", "queued", 1), ("queued", "running", 2)]

    assert find_false_moves(path) == []
    assert find_false_moves([*path, ("running", "succeeded", 2), ("succeeded", "running", 3)]) == [
        "went from succeeded to running"
    ]
    assert find_false_moves([path[0], ("running", "succeeded", 0)]) == ["left running while queued"]
    assert find_false_moves([path[0], ("queued", "running", 2)]) == ["became running in attempt 2 after 1 claims"]


def test_two_ids_for_one_key_are_a_violation() -> None:
    history = History()
    for id_ in ("sel_1", "sel_2"):
        history.accept(Accepted(id_, "ada", "key", Variant(0)))

    assert [one.ids for one in history.violations] == [("sel_1", "sel_2")]


def test_what_should_pass_is_a_violation_when_it_is_seen_too_long_without_a_break() -> None:
    history = History()
    watch = Watch(cast(Stores, None), history)
    for at in (0.0, 8.0):
        watch.judge({"a dead lease": 10.0}, at)
    watch.judge({}, 9.0)  # a store is away
    for at in (10.0, 20.0):
        watch.judge({"a dead lease": 10.0}, at)
    assert history.violations == []

    watch.judge({"a dead lease": 10.0}, 21.0)
    watch.judge({"a dead lease": 10.0}, 22.0)

    assert [one.detail for one in history.violations] == ["a dead lease for more than 10 s"]


def test_a_digest_that_differs_is_a_violation() -> None:
    history = History()
    for id_ in ("sel_1", "sel_2"):
        history.accept(Accepted(id_, "ada", id_, Variant(0)))
    rows = [(id_, "succeeded", digest, False) for id_, digest in (("sel_1", "a"), ("sel_2", "b"))]
    connection = cast(Connection, SimpleNamespace(execute=lambda _: rows))

    assert compare_digests(connection, history, {Variant(0): "a"}) == 2

    assert [one.ids for one in history.violations] == [("sel_2",)]


def test_a_file_that_is_left_is_a_violation(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "upload").touch()
    history = History()

    check_traces(tmp_path, [], history)

    assert [one.detail for one in history.violations] == ["file left: spool/upload"]
