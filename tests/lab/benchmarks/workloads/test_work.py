"""Workloads and the samples taken of them."""

from dataclasses import replace
from typing import Any

import pytest

from lab.benchmarks.measuring.comparison import choose_sample
from lab.benchmarks.workloads.work import WORKLOADS, Work, WorkloadSpec, build_work, part_of_pairs

SMALL = WorkloadSpec("small", "a small one", "reviews", demonstrations=3, prefixes=4, queries=10)


class TimedEngine:
    """Takes a known time for each pair, by a clock of its own."""

    name, note, loaded = "timed", "", None

    def __init__(self, seconds_per_pair: float, *, shares_prefixes: bool, smallest_sample: int = 2) -> None:
        self.seconds_per_pair, self.shares_prefixes = seconds_per_pair, shares_prefixes
        self.smallest_sample = smallest_sample
        self.now = 0.0

    def prepare(self, work: Work) -> Any:
        def run() -> None:
            self.now += work.num_pairs * self.seconds_per_pair

        return run


def sample_of(engine: Any, work: Work, seconds: float) -> Work:
    return choose_sample(engine, work, seconds, clock=lambda: engine.now)[0]


@pytest.mark.parametrize("spec", WORKLOADS, ids=lambda spec: spec.key)
def test_workload_has_the_shape_it_claims(spec: WorkloadSpec) -> None:
    work = build_work(spec)
    assert (len(work.prefixes), len(work.queries)) == (spec.prefixes, spec.queries)
    assert {len(prefix) for prefix in work.prefixes} == {spec.demonstrations}
    assert len(set(work.prefixes)) == spec.prefixes
    assert build_work(spec) == work


def test_part_is_spread_evenly_over_the_lengths() -> None:
    queries = tuple("x" * length for length in (9, 1, 8, 2, 7, 3, 6, 4, 5))
    work = replace(build_work(SMALL), queries=queries)
    assert [len(query) for query in work.part(1, 3).queries] == [8, 2, 5]
    assert work.part(4, 9) == work
    assert work.part(99, 99) == work


@pytest.mark.parametrize(
    ("pairs", "whole_prefixes", "expected"),
    [
        (25, True, (2, 10)),
        (3, True, (1, 10)),
        (3, False, (1, 3)),
        (0.1, False, (1, 1)),
        (31, False, (3, 10)),
        (999, False, (4, 10)),
    ],
)
def test_pairs_become_prefixes_and_queries(pairs: float, whole_prefixes: bool, expected: tuple[int, int]) -> None:
    part = part_of_pairs(build_work(SMALL), pairs, whole_prefixes=whole_prefixes)
    assert (len(part.prefixes), len(part.queries)) == expected


def test_slow_engine_gets_as_many_pairs_as_fit_its_time() -> None:
    work = build_work(SMALL)
    assert sample_of(TimedEngine(0.2, shares_prefixes=False), work, seconds=1.2) == work.part(1, 6)


def test_sample_is_no_smaller_than_the_engine_wants() -> None:
    work = build_work(SMALL)
    engine = TimedEngine(60.0, shares_prefixes=False, smallest_sample=8)
    assert sample_of(engine, work, seconds=1.0) == work.part(1, 8)
