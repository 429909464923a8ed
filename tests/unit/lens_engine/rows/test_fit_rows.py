from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.rows.fit_rows import count_fit_rows, pick_fit_rows
from lens_engine.rows.quotas import Quotas
from lens_engine.rows.splits import SplitRows
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.types import Example

SPLITS = ("validation", "confirmation", "spare", "candidates", "score_set", "test")


def make_rows(labels: str = "ab", **sizes: int) -> SplitRows:
    """Splits of these sizes, with the labels in turn; rows are numbered through all splits."""
    splits, row = dict[str, tuple[Example, ...]](), 0
    for name in SPLITS:
        size = sizes.get(name, 0)
        splits[name] = tuple(Example(at, f"{name} {at}", labels[at % len(labels)]) for at in range(row, row + size))
        row += size
    return SplitRows(
        task=Task(Template("{text} {label}"), Verbalizer({label: label.upper() for label in labels})),
        quotas=Quotas(2, None),
        unused=0,
        duplicates_dropped=0,
        conflicting_texts=0,
        leaked_from_test=0,
        warnings=(),
        **splits,
    )


SMALL = make_rows(validation=4, confirmation=4, spare=4, candidates=6, score_set=4, test=4)


def splits_of(rows: tuple[Example, ...]) -> list[str]:
    """The split of each row, each split once where it begins."""
    names = [example.text.split()[0] for example in rows]
    return [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]


def test_rows_come_split_after_split() -> None:
    assert splits_of(pick_fit_rows(SMALL, (), 300)) == [
        "validation",
        "confirmation",
        "spare",
        "candidates",
        "score_set",
    ]


@pytest.mark.parametrize(
    ("total", "last"), [(8, "confirmation"), (9, "spare"), (12, "spare"), (14, "candidates"), (20, "score_set")]
)
def test_later_splits_only_fill_up(total: int, last: str) -> None:
    fit_rows = pick_fit_rows(SMALL, (), total)

    assert len(fit_rows) == total
    assert splits_of(fit_rows)[-1] == last


@pytest.mark.parametrize("total", [0, 3, 7])
def test_judged_rows_are_taken_even_beyond_the_total(total: int) -> None:
    assert pick_fit_rows(SMALL, (), total) == (*SMALL.validation, *SMALL.confirmation)


def test_test_rows_are_never_fit_rows() -> None:
    assert not set(SMALL.test) & set(pick_fit_rows(SMALL, (), 300))


def test_rows_beyond_the_judged_ones_keep_the_shares_of_labels() -> None:
    rows = make_rows(labels="aaab", validation=8, spare=80, candidates=40)

    others = pick_fit_rows(rows, (), 68)[8:]

    assert Counter(example.label for example in others) == {"a": 45, "b": 15}


def test_rare_label_is_not_left_out() -> None:
    rows = make_rows(labels="a" * 29 + "b", validation=2, candidates=60)

    assert "b" in {example.label for example in pick_fit_rows(rows, (), 6)}


@given(
    sizes=st.fixed_dictionaries({name: st.integers(0, 12) for name in SPLITS}),
    labels=st.sampled_from(["ab", "aaab", "abcde"]),
    total=st.integers(0, 70),
    demonstrations=st.integers(0, 12),
)
def test_count_is_that_of_the_rows_picked(sizes: dict[str, int], labels: str, total: int, demonstrations: int) -> None:
    rows = make_rows(labels, **sizes)
    used = {example.row for example in rows.candidates[:demonstrations]}

    picked = pick_fit_rows(rows, used, total)

    assert count_fit_rows(rows, len(used), total) == len(picked) == len(set(picked))
    assert not used & {example.row for example in picked}
