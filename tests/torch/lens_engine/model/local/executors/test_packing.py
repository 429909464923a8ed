import itertools

import pytest

pytest.importorskip("hypothesis")  # a machine with a GPU may have the packages of the engine alone

from hypothesis import given
from hypothesis import strategies as st

from lens_engine.model.local.executors.packing import Forward, ideal_tokens, plan

lengths_strategy = st.lists(st.integers(1, 60), min_size=1, max_size=12)


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[int], list[int], int, int]:
    prefixes = draw(st.lists(st.integers(0, 80), min_size=1, max_size=8))
    return prefixes, draw(lengths_strategy), draw(st.integers(1, 300)), draw(st.integers(0, 5))


def planned(work: tuple[list[int], list[int], int, int]) -> tuple[Forward, ...]:
    prefixes, queries, budget, tail = work
    return plan(prefixes, queries, budget, tail=tail)


@given(workloads())
def test_every_pair_is_scored_once_and_every_prefix_fed_once(work: tuple[list[int], list[int], int, int]) -> None:
    prefixes, queries, _, _ = work
    groups = [group for forward in planned(work) for group in forward.groups]

    pairs = [(group.prefix, query) for group in groups for query in group.queries]
    assert sorted(pairs) == [(p, q) for p in range(len(prefixes)) for q in range(len(queries))]
    assert sorted(group.prefix for group in groups if group.feeds_prefix) == list(range(len(prefixes)))


@given(workloads())
def test_tokens_fed_are_the_ideal(work: tuple[list[int], list[int], int, int]) -> None:
    prefixes, queries, _, tail = work
    assert sum(forward.num_tokens for forward in planned(work)) == ideal_tokens(prefixes, queries, tail=tail)


@given(workloads())
def test_budget_is_held_unless_one_segment_exceeds_it(work: tuple[list[int], list[int], int, int]) -> None:
    prefixes, queries, budget, tail = work
    for forward in planned(work):
        segments = [
            *(prefixes[group.prefix] for group in forward.groups if group.feeds_prefix and prefixes[group.prefix]),
            *(queries[query] + tail for group in forward.groups for query in group.queries),
        ]
        assert forward.num_tokens == sum(segments)
        assert forward.num_tokens <= budget or len(segments) == 1


@given(workloads())
def test_a_prefix_fed_before_was_kept_by_the_forward_before(work: tuple[list[int], list[int], int, int]) -> None:
    forwards = planned(work)
    for earlier, later in itertools.pairwise(forwards):
        kept = [group.prefix for group in earlier.groups if group.keeps_prefix]
        carried = [group.prefix for group in later.groups if not group.feeds_prefix]
        assert kept == carried
    assert not any(group.keeps_prefix for group in forwards[-1].groups)


def test_no_queries_make_no_forwards() -> None:
    assert plan([3, 4], [], 100) == ()


def test_empty_prefix_is_no_forward_of_its_own() -> None:
    forwards = plan([0, 0], [50], budget=8)
    assert [forward.num_tokens for forward in forwards] == [50, 50]


@given(workloads(), st.integers(1, 90), st.sets(st.integers(0, 7)))
def test_long_prefixes_go_alone_and_held_ones_not_at_all(
    work: tuple[list[int], list[int], int, int], alone_from: int, held: set[int]
) -> None:
    prefixes, queries, budget, tail = work
    forwards = plan(prefixes, queries, budget, tail=tail, alone_from=alone_from, held=held)
    long = {prefix for prefix, length in enumerate(prefixes) if length >= alone_from}
    alone = [
        forward.groups[0] for forward in forwards if any(g.feeds_prefix and g.prefix in long for g in forward.groups)
    ]

    assert [group.prefix for group in alone] == sorted(long - held)
    assert all(group.keeps_prefix and not group.queries for group in alone)
    pairs = [(group.prefix, query) for forward in forwards for group in forward.groups for query in group.queries]
    assert sorted(pairs) == [(p, q) for p in range(len(prefixes)) for q in range(len(queries))]
    fed = ideal_tokens(prefixes, queries, tail=tail) - sum(prefixes[prefix] for prefix in long & held)
    assert sum(forward.num_tokens for forward in forwards) == fed


@given(workloads(), st.integers(1, 90))
def test_kept_prefix_goes_with_its_last_query(work: tuple[list[int], list[int], int, int], alone_from: int) -> None:
    prefixes, queries, budget, tail = work
    waiting = dict.fromkeys(range(len(prefixes)), len(queries))
    for forward in plan(prefixes, queries, budget, tail=tail, alone_from=alone_from):
        for group in forward.groups:
            waiting[group.prefix] -= len(group.queries)
            assert group.keeps_prefix == (waiting[group.prefix] > 0)
