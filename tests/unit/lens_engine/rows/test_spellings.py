"""Spellings of labels that differ only in case, spaces or Unicode form, through `deal_rows`."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidDataset, InvalidVerbalizer
from lens_engine.rows.dealing import DealtRows, deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.types import Example

MakeConfig = Callable[..., SelectionConfig]
LABELS = ("café", "delivery")


@pytest.fixture(scope="module")
def desk(make_task: Callable[..., Task]) -> Task:
    return make_task(*LABELS)


def make_rows(renamed: dict[int, str], stem: str = "text") -> list[Example]:
    """240 rows with the two labels in turn; `renamed` gives rows another label. Row 0 is on line 2."""
    rows = [Example(row, f"{stem} {row}", LABELS[row % 2], row + 2) for row in range(240)]
    return [replace(example, label=renamed.get(example.row, example.label)) for example in rows]


def count_used(rows: DealtRows) -> Counter[str]:
    return Counter(example.label for example in (*rows.labelled, *rows.test))


@pytest.mark.parametrize(
    "spelling", ["Café", "café ", "\u00a0café", "cafe\u0301", " CAFE\u0301\t"], ids=lambda one: ascii(one)
)
def test_spelling_is_read_as_the_label_of_the_verbalizer(desk: Task, make_config: MakeConfig, spelling: str) -> None:
    rows = deal_rows(Problem(desk, make_rows(dict.fromkeys(range(0, 240, 4), spelling))), make_config())

    plain = deal_rows(Problem(desk, make_rows({})), make_config())
    assert count_used(rows) == count_used(plain)
    assert replace(rows, warnings=(), notes=()) == replace(plain, warnings=(), notes=())


def test_repeated_spaces_and_folded_letters_are_one_label(
    make_task: Callable[..., Task], make_config: MakeConfig
) -> None:
    task = make_task("große freude", "delivery")
    renamed = {row: "GROSSE  Freude" if row % 4 else "große freude" for row in range(0, 240, 2)}

    assert set(count_used(deal_rows(Problem(task, make_rows(renamed)), make_config()))) == set(task.labels)


def test_joined_spellings_are_counted_in_a_warning_for_each_upload(desk: Task, make_config: MakeConfig) -> None:
    odd = dict.fromkeys(range(0, 20, 2), "Café") | dict.fromkeys((40, 42), "café ") | {3: "Delivery"}

    rows = deal_rows(Problem(desk, make_rows(odd), make_rows({1: "DELIVERY"}, "test")), make_config())

    assert rows.warnings[:2] == (
        "13 dataset rows have another spelling of a label and are read so: 'Café' (10), 'café ' (2) as 'café'; "
        "'Delivery' (1) as 'delivery' (to keep them apart, set options.labels.join_spellings to false)",
        "1 test row has another spelling of a label and is read so: 'DELIVERY' (1) as 'delivery' "
        "(to keep them apart, set options.labels.join_spellings to false)",
    )


def test_texts_with_two_spellings_of_one_label_have_one_label(desk: Task, make_config: MakeConfig) -> None:
    again = Example(500, "text 4", "CAFÉ")

    rows = deal_rows(Problem(desk, [*make_rows({}), again]), make_config())

    assert (rows.duplicates_dropped, rows.conflicting_texts) == (1, 0)


def test_spellings_are_kept_apart_where_the_option_says_so(make_config: MakeConfig) -> None:
    task = Task(Template("{text} {label}"), Verbalizer({"café": "Place", "Café": "Bar", "delivery": "Parcel"}))
    problem = Problem(task, make_rows(dict.fromkeys(range(0, 240, 4), "Café")))

    rows = deal_rows(problem, make_config(num_demonstrations=3, labels={"join_spellings": False}))
    assert count_used(rows)["Café"] == 60
    with pytest.raises(InvalidVerbalizer, match=r"'café' and 'Café' .* one label; .*join_spellings to false") as caught:
        deal_rows(problem, make_config(num_demonstrations=3))
    assert caught.value.field == "verbalizer.Café"


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("tea", "the label 'tea' (the first: line 6), which has no label word; add the label to the verbalizer"),
        (" \t", "no label (the first: line 6); give each row a label, or leave the row out"),
    ],
)
def test_label_without_a_word_is_refused_with_its_rows(
    desk: Task, make_config: MakeConfig, label: str, message: str
) -> None:
    with pytest.raises(InvalidDataset) as refusal:
        deal_rows(Problem(desk, make_rows({4: label, 8: label})), make_config())

    assert str(refusal.value) == f"2 rows have {message}"
    assert (refusal.value.field, refusal.value.row) == ("dataset.label", 4)


def test_unknown_labels_of_both_uploads_are_in_one_refusal(desk: Task, make_config: MakeConfig) -> None:
    problem = Problem(desk, make_rows({4: "tea", 5: "x"}), make_rows({7: "tea"}, "test"))

    with pytest.raises(InvalidDataset) as refusal:
        deal_rows(problem, make_config())

    found = refusal.value.problems
    assert [(one.field, one.row) for one in found] == [("dataset.label", 4), ("dataset.label", 5), ("test.label", 7)]
    assert "1 test row has the label 'tea' (line 9)" in found[2].detail
