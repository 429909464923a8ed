"""Labels of rows and labels of the verbalizer, through `split_examples`."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidDataset, InvalidInput, InvalidVerbalizer
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import SplitRows, split_examples
from lens_engine.task.template import Task, Template, Verbalizer
from lens_engine.types import Example

MakeConfig = Callable[..., SelectionConfig]
LABELS = ("refund", "delivery")


@pytest.fixture(scope="module")
def desk(make_task: Callable[..., Task]) -> Task:
    return make_task(*LABELS)


def make_rows(renamed: dict[int, str], stem: str = "text") -> list[Example]:
    """240 rows with the two labels in turn; `renamed` gives rows another label. Row 0 is on line 2."""
    rows = [Example(row, f"{stem} {row}", LABELS[row % 2], row + 2) for row in range(240)]
    return [replace(example, label=renamed.get(example.row, example.label)) for example in rows]


def refuse(problem: Problem, config: SelectionConfig) -> InvalidInput:
    with pytest.raises(InvalidInput) as refusal:
        split_examples(problem, config)
    return refusal.value


def count_used(split: SplitRows) -> Counter[str]:
    parts: Sequence[Sequence[Example]] = (
        split.candidates,
        split.score_set,
        split.validation,
        split.confirmation,
        split.test,
    )
    return Counter(example.label for part in parts for example in part)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("Refund", "'Refund' (first row 4, line 6), which differs from 'refund' only in case; correct the rows, or set "
         "options.labels.casefold to true"),
        ("refund ", "'refund ' (first row 4, line 6), which differs from 'refund' only in spaces; correct the rows, or "
         "set options.labels.strip to true"),
        (" REFUND", "' REFUND' (first row 4, line 6), which differs from 'refund' only in case and spaces; correct the "
         "rows, or set options.labels.casefold and options.labels.strip to true"),
        ("complaint", "'complaint' (first row 4, line 6), which has no label word; add the label to the verbalizer"),
    ],
)  # fmt: skip
def test_label_without_a_word_is_told_with_its_likeness(
    desk: Task, make_config: MakeConfig, label: str, words: str
) -> None:
    refusal = refuse(Problem(desk, make_rows({4: label, 8: label})), make_config())

    assert str(refusal) == f"2 rows have the label {words}"
    assert (type(refusal), refusal.field, refusal.row) == (InvalidDataset, "dataset.label", 4)


def test_only_the_option_that_is_missing_is_named(desk: Task, make_config: MakeConfig) -> None:
    refusal = refuse(Problem(desk, make_rows({4: " Refund"})), make_config(labels={"casefold": True}))

    assert str(refusal) == (
        "1 row has the label ' Refund' (row 4, line 6), which differs from 'refund' only in case and spaces; correct "
        "the rows, or set options.labels.strip to true"
    )


@pytest.mark.parametrize("blank", ["", " \t"])
def test_row_without_a_label_is_not_told_to_extend_the_verbalizer(
    desk: Task, make_config: MakeConfig, blank: str
) -> None:
    rows = [replace(example, line=None) for example in make_rows({4: blank})]

    refusal = refuse(Problem(desk, rows), make_config())

    assert str(refusal) == "1 row has no label (row 4); give each row a label, or leave the row out"


def test_mismatches_of_both_uploads_are_in_one_refusal(desk: Task, make_config: MakeConfig) -> None:
    problem = Problem(desk, make_rows({4: "Refund", 5: "x"}), make_rows({7: "y"}, "test"))

    refusal = refuse(problem, make_config())

    assert str(refusal).startswith("3 faults; the first: 1 row has the label 'Refund'")
    assert [(problem.field, problem.row) for problem in refusal.problems] == [
        ("dataset.label", 4),
        ("dataset.label", 5),
        ("test.label", 7),
    ]
    assert "1 test row has the label 'y' (row 7, line 9)" in refusal.problems[2].detail
    assert refusal.__notes__ == [problem.detail for problem in refusal.problems[1:]]


def test_label_word_in_another_case_is_told_once(make_task: Callable[..., Task], make_config: MakeConfig) -> None:
    refusal = refuse(Problem(make_task("Refund", "delivery"), make_rows({})), make_config())

    assert refusal.problems == ()
    assert str(refusal).startswith(
        "120 rows have the label 'refund' (first row 0, line 2), which differs from 'Refund'"
    )


def test_labels_are_read_with_the_options_and_counted(desk: Task, make_config: MakeConfig) -> None:
    odd = dict.fromkeys(range(0, 20, 2), "Refund") | dict.fromkeys((40, 42), "refund ")
    problem = Problem(desk, make_rows(odd), make_rows({1: "DELIVERY", 2: "refund\u00a0"}, "test"))

    split = split_examples(problem, make_config(labels={"strip": True, "casefold": True}))

    assert split.warnings[:3] == (
        "12 rows have a label read as 'refund': 'Refund' (10), 'refund ' (2)",
        "1 test row has a label read as 'delivery': 'DELIVERY' (1)",
        "1 test row has a label read as 'refund': 'refund\\xa0' (1)",
    )
    plain = split_examples(Problem(desk, make_rows({}), make_rows({}, "test")), make_config())
    assert count_used(split) == count_used(plain)
    assert replace(split, warnings=(), notes=()) == replace(plain, warnings=(), notes=())


def test_labels_of_the_verbalizer_that_become_one_are_refused(
    make_task: Callable[..., Task], make_config: MakeConfig
) -> None:
    task = make_task("refund", "delivery", "Refund ")

    refusal = refuse(Problem(task, make_rows({})), make_config(labels={"strip": True, "casefold": True}))

    assert isinstance(refusal, InvalidVerbalizer)
    assert "'refund' and 'Refund ' of the verbalizer are one label" in str(refusal)
    assert refusal.field == "verbalizer.Refund "


def test_look_alikes_with_words_of_their_own_are_kept_apart_and_warned_of(make_config: MakeConfig) -> None:
    task = Task(Template("{text} {label}"), Verbalizer({"refund": "Money", "Refund": "Cash", "delivery": "Parcel"}))
    rows = make_rows(dict.fromkeys(range(0, 240, 4), "Refund"))

    split = split_examples(Problem(task, rows), make_config(num_demonstrations=3))

    assert (
        "the labels 'refund' and 'Refund' differ only in case, and are kept apart; to make them one, remove one from "
        "the verbalizer and set options.labels.casefold to true"
    ) in split.warnings
    assert count_used(split)["Refund"] == 60
