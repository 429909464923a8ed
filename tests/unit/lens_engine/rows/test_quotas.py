import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.config import SelectionConfig
from lens_engine.plan import spread_evenly
from lens_engine.rows.quotas import Quotas, count_labels, share_equally, share_proportionally
from lens_engine.types import Example

COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 60), min_size=1)
TOTALS = st.integers(0, 300)


def test_labels_are_counted_in_their_order_with_zeros() -> None:
    examples = [Example(0, "x", "b"), Example(1, "y", "a"), Example(2, "z", "b")]

    assert list(count_labels(examples, ["c", "b", "a"]).items()) == [("c", 0), ("b", 2), ("a", 1)]


@given(total=TOTALS, available=COUNTS)
def test_equal_shares_fill_the_total_and_respect_what_there_is(total: int, available: dict[str, int]) -> None:
    quotas = share_equally(total, available)

    assert list(quotas) == list(available)
    assert sum(quotas.values()) == min(total, sum(available.values()))
    assert all(0 <= quotas[label] <= available[label] for label in available)


@given(total=TOTALS, available=COUNTS)
def test_equal_shares_differ_by_one_except_where_a_label_gave_all(total: int, available: dict[str, int]) -> None:
    quotas = share_equally(total, available)

    most = max(quotas.values())
    assert all(quotas[label] >= most - 1 for label in available if quotas[label] < available[label])


@given(total=TOTALS, available=COUNTS)
def test_proportional_shares_fill_the_total_and_respect_what_there_is(total: int, available: dict[str, int]) -> None:
    quotas = share_proportionally(total, available)

    assert list(quotas) == list(available)
    assert sum(quotas.values()) == min(total, sum(available.values()))
    assert all(0 <= quotas[label] <= available[label] for label in available)


@given(total=TOTALS, available=COUNTS)
def test_proportional_shares_leave_no_label_out_while_places_suffice(total: int, available: dict[str, int]) -> None:
    present = [label for label, count in available.items() if count]
    quotas = share_proportionally(total, available)

    if total >= len(present):
        assert all(quotas[label] >= 1 for label in present)


@given(total=TOTALS, each=st.integers(1, 50), labels=st.integers(1, 8))
def test_proportional_shares_of_equal_labels_differ_by_at_most_one(total: int, each: int, labels: int) -> None:
    quotas = share_proportionally(total, {str(label): each for label in range(labels)})

    assert max(quotas.values()) - min(quotas.values()) <= 1


@pytest.mark.parametrize(
    ("total", "available", "expected"),
    [
        (8, {"a": 50, "b": 50}, {"a": 4, "b": 4}),
        (7, {"a": 50, "b": 50}, {"a": 4, "b": 3}),
        (7, {"a": 50, "b": 60}, {"a": 3, "b": 4}),
        (10, {"a": 2, "b": 50, "c": 50}, {"a": 2, "b": 4, "c": 4}),
        (10, {"a": 2, "b": 1}, {"a": 2, "b": 1}),
        (0, {"a": 2, "b": 1}, {"a": 0, "b": 0}),
        (3, {"a": 0, "b": 9}, {"a": 0, "b": 3}),
    ],
)
def test_equal_share_of_known_counts(total: int, available: dict[str, int], expected: dict[str, int]) -> None:
    assert share_equally(total, available) == expected


@pytest.mark.parametrize(
    ("total", "available", "expected"),
    [
        (10, {"a": 70, "b": 30}, {"a": 7, "b": 3}),
        (10, {"a": 99, "b": 1}, {"a": 9, "b": 1}),
        (3, {"a": 100, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}),
        (5, {"a": 1000, "b": 1, "c": 1}, {"a": 3, "b": 1, "c": 1}),
        (500, {"a": 3, "b": 4}, {"a": 3, "b": 4}),
        (0, {"a": 3, "b": 4}, {"a": 0, "b": 0}),
        (4, {"a": 0, "b": 4, "c": 4}, {"a": 0, "b": 2, "c": 2}),
    ],
)
def test_proportional_share_of_known_counts(total: int, available: dict[str, int], expected: dict[str, int]) -> None:
    assert share_proportionally(total, available) == expected


def test_demonstrations_are_shared_evenly_and_the_rest_goes_to_the_first() -> None:
    config = SelectionConfig(num_demonstrations=8)

    quotas = Quotas.of("abc", config)

    assert quotas.by_label == {"a": 3, "b": 3, "c": 2}
    assert [quotas.needed(label) for label in "abc"] == [3, 3, 2]


def test_unbalanced_selection_has_no_quotas() -> None:
    quotas = Quotas.of("ab", SelectionConfig(num_demonstrations=1, balanced=False))

    assert quotas.by_label is None
    assert quotas.needed("a") == 1


def test_fewer_demonstrations_than_labels_have_no_quotas() -> None:
    quotas = Quotas.of("abc", SelectionConfig(num_demonstrations=2))

    assert (quotas.num_demonstrations, quotas.by_label) == (2, None)


def test_balanced_selection_has_a_group_for_each_label() -> None:
    groups, members = Quotas.of("ab", SelectionConfig(num_demonstrations=5)).group(np.array([1, 0, 1]))

    assert groups.tolist() == [1, 0, 1]
    assert members == (3, 2)


def test_unbalanced_selection_is_one_group() -> None:
    quotas = Quotas.of("ab", SelectionConfig(num_demonstrations=5, balanced=False))

    groups, members = quotas.group(np.array([1, 0]))

    assert groups.tolist() == [0, 0]
    assert members == (5,)


def test_rows_of_each_group_stand_in_the_middle_of_their_shares() -> None:
    assert spread_evenly(np.array([0, 0, 1, 0, 0])).tolist() == [0.125, 0.375, 0.5, 0.625, 0.875]
