"""Texts and examples in the forms in which callers hold them."""

import re
from typing import Any

import numpy as np
import pandas
import pytest

from lens_engine.errors import InvalidDataset
from lens_engine.prompt.examples import list_examples, list_texts
from lens_engine.prompt.request import TaskRequest
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows.problem import Problem
from lens_engine.types import Example

TEXTS, LABELS = ["a joy", "a bore"], ["good", "bad"]
EXAMPLES = [Example(0, "a joy", "good"), Example(1, "a bore", "bad")]
FRAME = pandas.DataFrame({"id": [7, 8], "text": TEXTS, "label": LABELS}, index=[40, 50])

FORMS = {
    "examples": EXAMPLES,
    "tuples": list(zip(TEXTS, LABELS, strict=True)),
    "tuple of tuples": tuple(zip(TEXTS, LABELS, strict=True)),
    "iterator": zip(TEXTS, LABELS, strict=True),
    "lists": [list(row) for row in zip(TEXTS, LABELS, strict=True)],
    "mappings": [{"text": text, "label": label, "id": 3} for text, label in zip(TEXTS, LABELS, strict=True)],
    "mixed": [EXAMPLES[0], ("a bore", "bad")],
    "DataFrame": FRAME,
    "mapping of columns": {"text": TEXTS, "label": LABELS},
    "two lists": (TEXTS, LABELS),
    "two Series": (FRAME["text"], FRAME["label"]),
    "two arrays": (np.array(TEXTS), np.array(LABELS, dtype=object)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_examples(form: str) -> None:
    given = list(FORMS[form]) if form == "iterator" else FORMS[form]
    assert list(Problem(Task.for_examples(given), given, given).examples) == EXAMPLES
    assert list(list_examples(given)) == EXAMPLES


def test_iterator_is_read_once() -> None:
    assert list(list_examples(zip(TEXTS, LABELS, strict=True))) == EXAMPLES


def test_given_examples_keep_their_rows_and_integers_become_labels() -> None:
    assert list(list_examples([Example(9, "x", "y"), ("z", 1), ("z", np.int64(0))])) == [
        Example(9, "x", "y"),
        Example(1, "z", "1"),
        Example(2, "z", "0"),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("train.csv", "the dataset is of type str; give rows"),
        (3, "the dataset is of type int; give rows"),
        (["a joy"], "row 0 of the dataset is of type str"),
        ([("a joy", "good"), ("a bore",)], "row 1 of the dataset is of type tuple"),
        ([{"text": "a joy", "class": "good"}], "row 0 of the dataset is of type dict"),
        ([("a joy", "good"), (b"a bore", "bad")], "the text in row 1 of the dataset is of type bytes"),
        ([("a joy", "good"), ("a bore", 0.5)], "the label in row 1 of the dataset is of type float"),
        ([("a joy", True)], "the label in row 0 of the dataset is of type bool"),
    ],
)
def test_other_form_is_a_type_error_that_names_the_row(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        list_examples(given)


@pytest.mark.parametrize(
    ("given", "message", "row"),
    [
        (FRAME.rename(columns={"text": "Text"}), "no column 'text'; columns found: 'id', 'Text', 'label'", None),
        ({"x": [1]}, "no column 'text' and no column 'label'; columns found: 'x'", None),
        ((TEXTS, ["good"]), "2 texts and 1 labels", None),
        ([("a joy", "good"), (" ", "bad")], "the text in row 1 of the test is empty", 1),
        ([("a joy", "good"), (None, "bad")], "the text in row 1 of the test is missing", 1),
        ([("a joy", "good"), ("a bore", float("nan"))], "the label in row 1 of the test is missing", 1),
    ],
)
def test_unusable_data_is_refused(given: Any, message: str, row: int | None) -> None:
    with pytest.raises(InvalidDataset, match=re.escape(message)) as refusal:
        list_examples(given, "test")
    assert refusal.value.row == row


@pytest.mark.parametrize("given", [TEXTS, tuple(TEXTS), np.array(TEXTS), FRAME["text"], iter(TEXTS)])
def test_texts_of_any_sequence_are_listed(given: Any) -> None:
    assert list_texts(given) == TEXTS


@pytest.mark.parametrize(
    ("error", "given", "message"),
    [
        (TypeError, "a joy", "texts is a single string, which would be read letter by letter; write [texts]"),
        (TypeError, b"a joy", "texts is a single string"),
        (TypeError, {"a joy": 1}, "texts is of type dict; give a list of strings"),
        (TypeError, None, "texts is of type NoneType; give a list of strings"),
        (TypeError, ["a joy", None], "texts[1] is of type NoneType; give a string"),
        (TypeError, FRAME["id"], "texts[0] is of type int; give a string"),
        (
            InvalidDataset,
            FRAME,
            'texts has the shape (2, 3); give one column of texts, such as texts["text"] of a DataFrame',
        ),
        (InvalidDataset, np.array([TEXTS]), "texts has the shape (1, 2)"),
        (InvalidDataset, ["a joy", ""], "texts[1] is empty"),
        (InvalidDataset, [" \n"], "texts[0] is empty"),
    ],
)
def test_what_is_no_text_is_named_by_its_index(error: type[Exception], given: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        list_texts(given)


def test_strings_and_mappings_make_a_task() -> None:
    words = {"good": "great", "bad": "terrible"}
    assert Task("{text} It was {label}.", words) == Task(Template("{text} It was {label}."), Verbalizer(words))


@pytest.mark.parametrize(
    ("template", "verbalizer", "message"),
    [
        (None, {"a": "x", "b": "y"}, "the template of a task is of type NoneType; give a Template"),
        ("{text} {label}", ["a", "b"], "the verbalizer of a task is of type list; give a Verbalizer"),
        ("{text} {label}", {0: "x", 1: "y"}, "label 0 has the label word 'x'; give both as strings"),
    ],
)
def test_other_parts_of_a_task_are_type_errors(template: Any, verbalizer: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Task(template, verbalizer)


def test_problem_of_something_else_than_a_task_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"the task is of type list; write Problem\(Task\.for_examples"):
        Problem(EXAMPLES, EXAMPLES)  # type: ignore[arg-type]


def test_repr_of_a_problem_counts() -> None:
    task = Task.for_examples(EXAMPLES)
    assert repr(Problem(task, EXAMPLES)) == "Problem(2 examples, 2 labels, no test rows)"
    assert repr(Problem(task, EXAMPLES, EXAMPLES[:1])) == "Problem(2 examples, 2 labels, 1 test row)"


def test_swapped_columns_are_named_wherever_rows_come_from() -> None:
    rows = [(label, text) for label, text in zip(["good", "bad"] * 6, map(str, range(12)), strict=True)]
    with pytest.raises(InvalidDataset, match="12 labels and 2 texts; are the columns of texts and labels swapped"):
        TaskRequest().complete(list_examples(rows))
    with pytest.raises(InvalidDataset, match="swapped"):
        Problem(Task("{text} {label}", {"a": "a", "b": "b"}), rows)
