"""Faults drawn from a seed."""

import itertools

from tests.chaos.process_faults import OF_PROCESSES
from tests.chaos.schedule import FAULT_SECONDS, PAUSE_SECONDS, WEIGHTS, plan_faults
from tests.chaos.store_faults import OF_STORES, WEATHERS


def test_the_same_seed_plans_the_same_faults() -> None:
    assert plan_faults(3, 600) == plan_faults(3, 600)
    assert plan_faults(3, 600) != plan_faults(4, 600)


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    short = plan_faults(3, 300)

    assert plan_faults(3, 600)[: len(short)] == short


def test_pauses_and_durations_stay_within_their_bounds() -> None:
    faults = plan_faults(5, 3600)
    times = [0.0, *(fault.at for fault in faults)]

    assert all(PAUSE_SECONDS[0] <= after - before <= PAUSE_SECONDS[1] for before, after in itertools.pairwise(times))
    assert all(FAULT_SECONDS[0] <= fault.seconds <= FAULT_SECONDS[1] for fault in faults)
    assert times[-1] < 3600


def test_an_hour_has_every_kind() -> None:
    assert {fault.kind for fault in plan_faults(5, 3600)} == set(WEIGHTS)


def test_every_kind_can_be_inflicted() -> None:
    ways = {f"{weather}-{store}" for weather in WEATHERS for store in ("postgres", "redis")}

    assert set(WEIGHTS) <= {*OF_PROCESSES, *OF_STORES, *ways}
