"""Labels with too few rows: what is refused, and the task without them."""

from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidDataset, InvalidInput, InvalidVerbalizer
from lens_engine.rows.dealing import DealtRows, deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.task.template import Task
from lens_engine.types import Example

Make = Callable[..., Any]
MORE = [Example(500 + row, "the same", "b") for row in range(3)]


@pytest.fixture(scope="module")
def deal(make_task: Callable[..., Task], make_examples: Make, make_config: Callable[..., SelectionConfig]) -> Make:
    """Deal rows of these labels; `labels` are those that have a label word."""

    def run(
        counts: dict[str, int], *, rare: str = "reject", labels: str = "", more: Any = (), **test: int
    ) -> DealtRows:
        task, given = make_task(*(labels or counts)), make_examples(test, stem="test") if test else None
        return deal_rows(Problem(task, [*make_examples(counts), *more], given), make_config(labels={"rare": rare}))

    return run


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"counts": {"a": 90, "b": 0}, "more": MORE}, ClassTooSmall, "'b' has 3 rows, 1 of them with a text of the"),
        ({"counts": {"a": 90, "b": 1}}, ClassTooSmall, "'b' has 1 row; the minimum is 2 rows per label: one to show"),
        ({"counts": {"a": 90, "b": 90}, "labels": "abc"}, InvalidVerbalizer, "'c' has a label word but no row; "),
        (
            {"counts": {"a": 90, "b": 90, "c": 3}, "labels": "ab"},
            InvalidDataset,
            "3 rows have the label 'c' .*no label",
        ),
        ({"counts": {"a": 90, "b": 1}, "rare": "drop"}, ClassTooSmall, "fewer than two labels would be left"),
        (
            {"counts": {"a": 90, "b": 1, "c": 90, "d": 1}},
            ClassTooSmall,
            "^2 faults; .*'b' has 1 row; .* set options.labels.rare to \"drop\" to leave out 2 of 4 labels",
        ),
        (
            {"counts": {"a": 90, "b": 90, "c": 9}, "labels": "ab", "rare": "drop"},
            InvalidDataset,
            "9 rows have the label",
        ),
    ],
)
def test_label_is_refused_by_its_name_and_number(
    given: dict[str, Any], error: type[InvalidInput], message: str, deal: Make
) -> None:
    with pytest.raises(error, match=message) as refusal:
        deal(**given)
    assert refusal.value.field in {"dataset.label", "verbalizer.c"}
    assert ("drop" in str(refusal.value)) == ("'c' has a" in message or "to leave out" in message)


@pytest.mark.parametrize("labels", ["ab", "abcd", "abcdefghij"])
def test_two_rows_of_each_label_and_ten_in_all_are_enough(labels: str, deal: Make) -> None:
    rows = deal({"a": 8} | dict.fromkeys(labels[1:], 2))

    assert rows.task.labels == tuple(labels)
    assert len(rows.judging) == 8 + 2 * (len(labels) - 1)


@pytest.mark.parametrize("labels", ["abc", "ac"], ids=["with a label word", "without one"])
def test_dropped_label_is_out_of_rows_and_task(labels: str, deal: Make) -> None:
    rows = deal({"a": 90, "b": 1, "c": 90}, labels=labels, rare="drop", a=30, b=9, c=30)

    assert rows.task.verbalizer.words == {"a": "A", "c": "C"}
    assert {example.label for example in (*rows.labelled, *rows.test)} == {"a", "c"}
    assert (len(rows.labelled), len(rows.test), rows.left_out) == (180, 60, ("b",))
    assert "the label 'b' was dropped: only 1 row and 9 test rows" in rows.warnings


def test_label_that_is_in_the_test_rows_alone_is_dropped_too(deal: Make) -> None:
    rows = deal({"a": 60, "b": 60}, rare="drop", a=9, b=9, c=1)

    assert "the label 'c' was dropped: only 0 rows and 1 test row" in rows.warnings


def test_text_that_also_has_a_rare_label_is_set_aside(deal: Make) -> None:
    rows = deal({"a": 60, "b": 60}, more=[Example(200, "text 0", "odd")], rare="drop")

    assert rows.conflicting_texts == 1
