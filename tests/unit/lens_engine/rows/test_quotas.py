from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.config import SelectionConfig
from lens_engine.rows.dealing import draw_pool
from lens_engine.rows.plan import spread_evenly
from lens_engine.rows.quotas import Quotas, count_labels, share_equally, share_proportionally
from lens_engine.types import Example

COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 60), min_size=1)
TOTALS = st.integers(0, 300)


def test_labels_are_counted_in_their_order_with_zeros() -> None:
    examples = [Example(0, "x", "b"), Example(1, "y", "a"), Example(2, "z", "b")]
    assert list(count_labels(examples, ["c", "b", "a"]).items()) == [("c", 0), ("b", 2), ("a", 1)]


@given(total=TOTALS, available=COUNTS)
def test_shares_fill_the_total_and_respect_what_there_is(total: int, available: dict[str, int]) -> None:
    equal, proportional = share_equally(total, available), share_proportionally(total, available)
    for quotas in (equal, proportional):
        assert list(quotas) == list(available)
        assert sum(quotas.values()) == min(total, sum(available.values()))
        assert all(0 <= quotas[label] <= available[label] for label in available)
    most = max(equal.values())
    assert all(equal[label] >= most - 1 for label in available if equal[label] < available[label])
    if total >= sum(count > 0 for count in available.values()):
        assert all(proportional[label] >= 1 for label in available if available[label])


@pytest.mark.parametrize(
    ("share", "total", "available", "expected"),
    [
        (share_equally, 8, {"a": 50, "b": 50}, {"a": 4, "b": 4}),
        (share_equally, 7, {"a": 50, "b": 50}, {"a": 4, "b": 3}),
        (share_equally, 7, {"a": 50, "b": 60}, {"a": 3, "b": 4}),
        (share_equally, 10, {"a": 2, "b": 50, "c": 50}, {"a": 2, "b": 4, "c": 4}),
        (share_equally, 10, {"a": 2, "b": 1}, {"a": 2, "b": 1}),
        (share_equally, 0, {"a": 2, "b": 1}, {"a": 0, "b": 0}),
        (share_equally, 3, {"a": 0, "b": 9}, {"a": 0, "b": 3}),
        (share_proportionally, 10, {"a": 70, "b": 30}, {"a": 7, "b": 3}),
        (share_proportionally, 10, {"a": 99, "b": 1}, {"a": 9, "b": 1}),
        (share_proportionally, 3, {"a": 100, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}),
        (share_proportionally, 5, {"a": 1000, "b": 1, "c": 1}, {"a": 3, "b": 1, "c": 1}),
        (share_proportionally, 500, {"a": 3, "b": 4}, {"a": 3, "b": 4}),
        (share_proportionally, 0, {"a": 3, "b": 4}, {"a": 0, "b": 0}),
        (share_proportionally, 4, {"a": 0, "b": 4, "c": 4}, {"a": 0, "b": 2, "c": 2}),
    ],
)
def test_share_of_known_counts(share: Any, total: int, available: dict[str, int], expected: dict[str, int]) -> None:
    assert share(total, available) == expected


@pytest.mark.parametrize(
    ("counts", "given", "by_label", "groups", "members"),
    [
        ({"a": 9, "b": 9, "c": 9}, {"num_demonstrations": 8}, {"a": 3, "b": 3, "c": 2}, [1, 0, 1], (3, 3, 2)),
        ({"a": 9, "b": 9}, {"num_demonstrations": 5}, {"a": 3, "b": 2}, [1, 0, 1], (3, 2)),
        ({"a": 9, "b": 9}, {"num_demonstrations": 5, "balanced": False}, None, [0, 0, 0], (5,)),
        ({"a": 9, "b": 9, "c": 9}, {"num_demonstrations": 2}, None, [0, 0, 0], (2,)),
        # at most half of the rows, and of a label: the others judge
        ({"a": 6, "b": 5}, {"num_demonstrations": 8}, {"a": 3, "b": 2}, [1, 0, 1], (3, 2)),
        ({"a": 2, "b": 98}, {"num_demonstrations": 8}, {"a": 1, "b": 7}, [1, 0, 1], (1, 7)),
        ({"a": 6, "b": 5}, {"num_demonstrations": 8, "balanced": False}, None, [0, 0, 0], (5,)),
    ],
)
def test_demonstrations_are_shared_evenly_and_leave_half_of_the_rows(
    counts: dict[str, int], given: Any, by_label: dict[str, int] | None, groups: list[int], members: tuple[int, ...]
) -> None:
    quotas = Quotas.of(counts, counts, SelectionConfig(**given))
    assert (quotas.by_label, quotas.num_demonstrations) == (by_label, sum(members))
    found, sizes = quotas.group(np.array([1, 0, 1]))
    assert (found.tolist(), sizes) == (groups, members)


def test_rows_of_each_group_stand_in_the_middle_of_their_shares() -> None:
    assert spread_evenly(np.array([0, 0, 1, 0, 0])).tolist() == [0.125, 0.375, 0.5, 0.625, 0.875]


def test_no_label_is_shown_more_often_than_it_has_candidates() -> None:
    assert Quotas.of({"a": 12, "b": 388}, {"a": 3, "b": 189}, SelectionConfig()).by_label == {"a": 3, "b": 5}


LABELS = ["a"] * 60 + ["b"] * 39 + ["c"]
EXAMPLES = [Example(10 * place, f"text {place}", label) for place, label in enumerate(LABELS)]


def test_all_rows_are_the_pool_where_they_fit() -> None:
    drawn = draw_pool(EXAMPLES[::-1], 0, 100)
    assert [row.row for row in drawn.pool.rows] == list(range(0, 1000, 10))
    assert drawn.left_out == 0


def test_sample_of_more_rows_has_the_labels_in_proportion() -> None:
    drawn = draw_pool(EXAMPLES, 0, 20)
    assert Counter(row.label for row in drawn.pool.rows) == {"a": 12, "b": 7, "c": 1}
    assert drawn.left_out == 80
    assert {(row.row, row.text, row.label) for row in drawn.pool.rows} <= {
        (one.row, one.text, one.label) for one in EXAMPLES
    }


def test_sample_depends_on_the_seed_and_not_on_the_order_of_the_rows() -> None:
    shuffled = Random(1).sample(EXAMPLES, len(EXAMPLES))
    assert draw_pool(shuffled, 3, 20) == draw_pool(EXAMPLES, 3, 20)
    assert draw_pool(EXAMPLES, 4, 20) != draw_pool(EXAMPLES, 3, 20)
