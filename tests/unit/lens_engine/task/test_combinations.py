"""Several templates and instructions become the task and its alternatives, or are refused by their places."""

import pytest

from lens_engine.errors import InvalidInput, InvalidInstruction, InvalidTemplate
from lens_engine.task.request import combine_wordings, read_instructions, read_templates
from lens_engine.task.template import Task, Template
from lens_engine.task.verbalizer import DEFAULT_TEMPLATE, Verbalizer

WORDS = Verbalizer({"a": "A", "b": "B"})
PATTERNS = ["{text}: {label}", "{text} {label}"]


def test_each_template_is_combined_with_each_instruction() -> None:
    task, others = combine_wordings(WORDS, read_templates(PATTERNS), read_instructions(["Do.", ""]), " # ")
    expected = [Task(one, WORDS, " # ", instruction=said) for one in PATTERNS for said in ("Do.", "")]
    assert [task, *others] == expected


def test_nothing_given_is_the_default_template_without_an_instruction() -> None:
    assert combine_wordings(WORDS, read_templates(None)) == (Task(DEFAULT_TEMPLATE, WORDS), ())


@pytest.mark.parametrize("given", ["{text} {label}", ["{text} {label}"]])
def test_one_text_is_a_list_of_one(given: str | list[str]) -> None:
    assert read_templates(given) == (Template("{text} {label}"),)
    assert read_instructions(given) == ("{text} {label}",)


def test_all_faulty_templates_are_told_by_their_places() -> None:
    with pytest.raises(InvalidTemplate) as caught:
        read_templates(["{text}", "{text} {label}", "", "{text} {label}"])
    assert [(fault.field, fault.detail.partition(":")[0]) for fault in caught.value.faults] == [
        ("template.0", "template 1 of 4"),
        ("template.2", "template 3 of 4"),
        ("template.3", "template 4 of 4"),
    ]
    assert caught.value.faults[2].detail == (
        "template 4 of 4: the template '{text} {label}' is given twice; give it once"
    )


def test_one_faulty_text_is_told_without_a_place() -> None:
    with pytest.raises(InvalidTemplate, match=r"^the template has no \{label\} slot") as caught:
        read_templates(["{text}"])
    assert caught.value.field == "template"


@pytest.mark.parametrize("said", [" ", "\0", "x" * 20_001])
def test_faulty_instruction_is_told_by_its_place(said: str) -> None:
    with pytest.raises(InvalidInstruction, match=r"^instruction 2 of 2: the instruction ") as caught:
        read_instructions(["", said])
    assert caught.value.field == "instruction.1"


def test_empty_list_is_refused() -> None:
    with pytest.raises(InvalidTemplate, match="the list of templates is empty"):
        read_templates([])
    with pytest.raises(InvalidInstruction, match="the list of instructions is empty"):
        read_instructions(())


def test_text_of_another_type_is_named() -> None:
    with pytest.raises(TypeError, match=r"template\.1 is of type int; give a str"):
        read_templates(["{text} {label}", 3])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("templates", "instructions", "field"),
    [(17, 1, "template"), (6, 3, "template"), (3, 6, "instruction"), (0, 17, "instruction")],
)
def test_more_wordings_than_a_run_tries_are_refused(templates: int, instructions: int, field: str) -> None:
    patterns = read_templates([f"{number} {{text}} {{label}}" for number in range(templates)] or None)
    texts = tuple(f"Do {number}." for number in range(instructions))
    with pytest.raises(InvalidInput, match=r"are 1[78] wordings, and a run chooses among at most 16") as caught:
        combine_wordings(WORDS, patterns, texts)
    assert caught.value.field == field


def test_sixteen_wordings_are_tried() -> None:
    patterns = read_templates([f"{number} {{text}} {{label}}" for number in range(4)])
    assert len(combine_wordings(WORDS, patterns, tuple("wxyz")).alternatives) == 15
