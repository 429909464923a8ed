from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.rows.dealing import DealtRows, count_fit_rows, pick_fit_rows
from lens_engine.rows.quotas import Quotas
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.types import Example

PARTS = ("judging", "search", "rest", "test")


def make_rows(labels: str = "ab", **sizes: int) -> DealtRows:
    """Parts of these sizes, with the labels in turn; rows are numbered through all parts."""
    parts, row = dict[str, tuple[Example, ...]](), 0
    for name in PARTS:
        size = sizes.get(name, 0)
        parts[name] = tuple(Example(at, f"{name} {at}", labels[at % len(labels)]) for at in range(row, row + size))
        row += size
    return DealtRows(
        task=Task(Template("{text} {label}"), Verbalizer({label: label.upper() for label in labels})),
        quotas=Quotas(2, None),
        duplicates_dropped=0,
        conflicting_texts=0,
        leaked_from_test=0,
        warnings=(),
        **parts,
    )


@pytest.mark.parametrize("total", [0, 3, 7])
def test_judging_rows_are_taken_even_beyond_the_total(total: int) -> None:
    rows = make_rows(judging=8, search=6, rest=4, test=4)
    assert pick_fit_rows(rows, (), total) == rows.judging


def test_rows_beyond_the_judging_ones_keep_the_shares_of_labels() -> None:
    rows = make_rows(labels="aaab", judging=8, search=80, rest=40)

    others = pick_fit_rows(rows, (), 68)[8:]

    assert Counter(example.label for example in others) == {"a": 45, "b": 15}


def test_rare_label_is_not_left_out() -> None:
    rows = make_rows(labels="a" * 29 + "b", judging=2, rest=60)

    assert "b" in {example.label for example in pick_fit_rows(rows, (), 6)}


@given(
    sizes=st.fixed_dictionaries({name: st.integers(0, 12) for name in PARTS}),
    labels=st.sampled_from(["ab", "aaab", "abcde"]),
    total=st.integers(0, 70),
    demonstrations=st.integers(0, 12),
)
def test_rows_picked_are_counted_and_none_is_a_demonstration_or_a_test_row(
    sizes: dict[str, int], labels: str, total: int, demonstrations: int
) -> None:
    rows = make_rows(labels, **sizes)
    used = {example.row for example in rows.labelled[:demonstrations]}

    everything, picked = pick_fit_rows(rows, (), total), pick_fit_rows(rows, used, total)

    assert count_fit_rows(rows, total) == len(everything) == len(set(everything)) >= len(picked) == len(set(picked))
    assert not (used | {example.row for example in rows.test}) & {example.row for example in picked}
