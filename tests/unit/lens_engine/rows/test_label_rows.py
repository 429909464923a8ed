"""Labels with too few rows: what is refused, how many rows are needed, and the task without them."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.config import SelectionConfig
from lens_engine.errors import ClassTooSmall, InvalidConfig, InvalidDataset
from lens_engine.presets import resolve_config
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.task.template import Task
from lens_engine.types import Example

MakeExamples = Callable[..., list[Example]]
MakeConfig = Callable[..., SelectionConfig]
MakeTask = Callable[..., Task]
MINIMUM = re.compile(r"label '(\w)' has .*?; the minimum is (\d+) rows per label")


def test_rare_label_is_refused_with_its_rows_and_the_minimum(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    again = [Example(500 + row, "the same", "positive") for row in range(3)]

    with pytest.raises(ClassTooSmall) as refusal:
        split_examples(Problem(task, [*make_examples({"negative": 200, "positive": 3}), *again]), make_config())

    assert str(refusal.value) == (
        "label 'positive' has 6 rows, 4 of them with a text of their own and with one label; the minimum is 7 rows per "
        "label: 2 to test, 1 to validate, 1 to confirm, 1 to score, 2 as demonstrations; add rows, "
        "or give test rows of their own, with which 5 are enough"
    )
    assert refusal.value.field == "dataset.label"


@settings(deadline=None)
@given(
    counts=st.tuples(*[st.integers(1, 12) | st.integers(40, 90)] * 3),
    demonstrations=st.integers(1, 9),
    balanced=st.booleans(),
    validation=st.integers(4, 30),
    test_is_given=st.booleans(),
)
def test_minimum_is_enough_for_every_rare_label_and_one_row_less_is_not(
    make_task: MakeTask,
    make_examples: MakeExamples,
    make_config: MakeConfig,
    counts: tuple[int, int, int],
    demonstrations: int,
    balanced: bool,
    validation: int,
    test_is_given: bool,
) -> None:
    config = make_config(num_demonstrations=demonstrations, balanced=balanced, splits={"validation": validation})
    task, by_label = make_task(*"abc"), dict(zip("abc", counts, strict=True))
    test = make_examples(dict.fromkeys("abc", 9), stem="test") if test_is_given else None

    def find_minimum(least: int) -> int | None:
        numbers = {label: max(number, least) for label, number in by_label.items()}
        try:
            split_examples(Problem(task, make_examples(numbers), test), config)
        except ClassTooSmall as refusal:
            told = [MINIMUM.match(fault.detail) for fault in refusal.faults]
            assert {match[1] for match in told if match} == {one for one in numbers if numbers[one] < int(told[0][2])}
            return int(told[0][2])
        except InvalidDataset:  # too few candidates, which is no label's fault
            return None
        return None

    minimum = find_minimum(0)
    if minimum is not None:
        assert find_minimum(minimum) is None
        assert find_minimum(minimum - 1) == minimum


@pytest.mark.parametrize("rare", ["reject", "drop"])
def test_dropping_is_advised_only_if_two_labels_would_be_left(
    make_task: MakeTask, make_examples: MakeExamples, make_config: MakeConfig, rare: str
) -> None:
    few, many = Problem(make_task(*"ab"), make_examples({"a": 90, "b": 2})), {"a": 90, "b": 2, "c": 90, "d": 1}
    config = make_config(labels={"rare": rare})

    with pytest.raises(ClassTooSmall) as refusal:
        split_examples(few, config)
    assert 'labels.rare to "drop"' not in str(refusal.value)
    with pytest.raises(ClassTooSmall, match=r"^2 faults; .*'b' has 2 rows; .* to \"drop\" to leave out 2 of 4 labels"):
        split_examples(Problem(make_task(*"abcd"), make_examples(many)), make_config())


@pytest.mark.parametrize(("labels", "least", "beside_test"), [("ab", 12, 9), ("abcd", 7, 6), ("abcdefghij", 7, 5)])
def test_few_rows_of_every_label_are_refused_with_what_would_do(
    make_task: MakeTask, make_examples: MakeExamples, labels: str, least: int, beside_test: int
) -> None:
    task, test = make_task(*labels), make_examples(dict.fromkeys(labels, 2), stem="test")

    with pytest.raises(ClassTooSmall) as refusal:
        split_examples(Problem(task, make_examples(dict.fromkeys(labels, 4))), resolve_config())

    for fault, label in zip(refusal.value.faults, labels, strict=True):
        assert f"label '{label}' has 4 rows; the minimum is {least} rows per label" in fault.detail
        assert fault.detail.endswith(f"add rows, or give test rows of their own, with which {beside_test} are enough")
    split_examples(Problem(task, make_examples(dict.fromkeys(labels, beside_test)), test), resolve_config())


def test_shorter_prompts_are_advised_where_they_suffice(make_task: MakeTask, make_examples: MakeExamples) -> None:
    problem = Problem(make_task(*"ab"), make_examples({"a": 200, "b": 6}))

    with pytest.raises(ClassTooSmall, match=r"add rows, .*or set options.num_demonstrations to 2$"):
        split_examples(problem, resolve_config())
    split_examples(problem, resolve_config("quick", {"num_demonstrations": 2}))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"splits": {"validation": 4}}, "options.splits.validation"),
        ({"splits": {"test": 4}}, "options.splits.test"),
        ({"filtering": {"max_score_size": 4}}, "options.filtering.max_score_size"),
        ({"filtering": {"initial_score_size": 4, "rounds": 1}}, "options.filtering.initial_score_size"),
    ],
)
@pytest.mark.parametrize("rare", ["reject", "drop"])
def test_split_that_no_number_of_rows_can_fill_is_the_fault_of_its_option(
    make_task: MakeTask,
    make_examples: MakeExamples,
    make_config: MakeConfig,
    options: dict[str, dict[str, int]],
    field: str,
    rare: str,
) -> None:
    problem = Problem(make_task(*"abcde"), make_examples(dict.fromkeys("abcde", 90)))

    with pytest.raises(InvalidConfig, match=r"for 5 labels, however many rows the dataset has; raise") as refusal:
        split_examples(problem, make_config(num_demonstrations=5, labels={"rare": rare}, **options))

    assert refusal.value.field == field


def test_dropped_label_is_out_of_rows_and_task(
    make_task: MakeTask, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    examples = make_examples({"a": 90, "b": 3, "c": 90})
    test = make_examples({"a": 30, "b": 9, "c": 30}, stem="test")

    split = split_examples(Problem(make_task(*"abc"), examples, test), make_config(labels={"rare": "drop"}))

    assert split.task.verbalizer.words == {"a": "A", "c": "C"}
    used = (*split.candidates, *split.score_set, *split.validation, *split.confirmation, *split.test)
    assert {example.label for example in used} == {"a", "c"}
    assert len(split.test) == 60
    assert "the label 'b' was dropped: only 3 rows and 9 test rows" in split.warnings


def test_label_that_suffices_without_a_rarer_one_stays(
    make_task: MakeTask, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    problem = Problem(make_task(*"abc"), make_examples({"a": 6, "b": 4, "c": 60}))

    with pytest.raises(ClassTooSmall, match=r"(?s)^2 faults; .*'a' has 6 rows; .*'b' has 4 rows; "):
        split_examples(problem, make_config())

    assert split_examples(problem, make_config(labels={"rare": "drop"})).task.labels == ("a", "c")


def test_label_without_a_test_row_is_dropped(
    make_task: MakeTask, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    examples, test = make_examples(dict.fromkeys("abc", 60)), make_examples({"a": 30, "c": 30}, stem="test")

    split = split_examples(Problem(make_task(*"abc"), examples, test), make_config(labels={"rare": "drop"}))

    assert split.task.labels == ("a", "c")


def test_rare_label_without_a_label_word_is_left_out_too(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    examples = make_examples({"negative": 60, "positive": 60, "odd": 3})
    config = make_config(labels={"rare": "drop"})

    split = split_examples(Problem(task, examples), config)

    assert "the label 'odd' was dropped: only 3 rows" in split.warnings
    assert split.task == task
    assert {one.label for one in (*split.candidates, *split.test, *split.validation)} == {"negative", "positive"}
    with pytest.raises(InvalidDataset, match=r"'odd' .*, which has no label word"):
        split_examples(Problem(task, examples), make_config())
    frequent = make_examples({"negative": 60, "positive": 60, "other": 60})
    with pytest.raises(InvalidDataset, match="60 rows have the label 'other'"):
        split_examples(Problem(task, frequent), config)


def test_test_rows_decide_too_whether_a_label_without_a_word_is_rare(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    config = make_config(labels={"rare": "drop"})
    examples = make_examples({"negative": 60, "positive": 60, "odd": 2})
    test = [replace(one, text=f"test {one.text}") for one in make_examples({"negative": 9, "positive": 9, "odd": 4})]
    test += [Example(90, "once", "only here")]

    split = split_examples(Problem(task, examples, test), config)

    assert "the label 'odd' was dropped: only 2 rows and 4 test rows" in split.warnings
    assert "the label 'only here' was dropped: only 0 rows and 1 test row" in split.warnings


def test_text_that_also_has_a_rare_label_is_set_aside(
    task: Task, make_examples: MakeExamples, make_config: MakeConfig
) -> None:
    examples = make_examples({"negative": 60, "positive": 60})
    torn = [*examples, Example(200, examples[0].text, "odd")]

    split = split_examples(Problem(task, torn), make_config(labels={"rare": "drop"}))

    assert split.conflicting_texts == 1
