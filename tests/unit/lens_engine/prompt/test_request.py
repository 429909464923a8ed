"""What a task says nothing about is taken by default, and said."""

from collections.abc import Sequence

import pytest

from lens_engine.errors import InvalidDataset, InvalidInput, InvalidInstruction, InvalidTemplate, InvalidVerbalizer
from lens_engine.prompt.examples import list_labels
from lens_engine.prompt.request import TaskRequest, combine_wordings, read_instructions, read_templates
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import DEFAULT_TEMPLATE, OTHER_TEMPLATES, Verbalizer, word_of_label
from lens_engine.types import Example


def examples_of(*labels: str) -> list[Example]:
    return [Example(row, f"text {row}", label) for row, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("label", "word"),
    [
        ("billing", "billing"),
        ("credit_card", "credit card"),
        ("__label__credit__card", "label credit card"),
        ("  two  words ", "two words"),
        ("line\nbreak", "line break"),
        ("e-mail", "e-mail"),
        ("Credit Card", "Credit Card"),
        ("comp.sys/0", "comp.sys/0"),
    ],
)
def test_label_is_written_as_a_person_would(label: str, word: str) -> None:
    assert word_of_label(label) == word


def test_labels_in_order_are_their_own_words() -> None:
    task = Task.for_labels(["b_1", "a"])
    assert dict(task.verbalizer.words) == {"b_1": "b 1", "a": "a"}
    assert task.labels == ("b_1", "a")
    assert task.template == Template(DEFAULT_TEMPLATE)


def test_labels_of_examples_are_sorted() -> None:
    assert Task.for_examples(examples_of("b", "c", "a", "b")).labels == ("a", "b", "c")


def test_labels_that_fold_alike_are_one_in_the_most_frequent_spelling() -> None:
    task = TaskRequest().complete(examples_of("Refund", "refund", "other", "refund", "REFUND")).task
    assert task.labels == ("other", "refund")
    apart = [Example(0, "x", "refund"), Example(1, "y", "Refund")]
    assert list_labels(apart, join_spellings=False) == ["Refund", "refund"]


def test_label_has_no_outer_spaces_though_every_row_has_one() -> None:
    assert list_labels([Example(0, "x", " good"), Example(1, "y", " bad")]) == ["bad", "good"]


@pytest.mark.parametrize("pattern", [DEFAULT_TEMPLATE, *OTHER_TEMPLATES])
def test_templates_at_hand_render_a_demonstration_that_ends_in_a_line_break(pattern: str) -> None:
    task = Task.for_labels(["yes", "no"], pattern)
    demonstration = task.render_demonstration(Example(0, "Is it?", "yes"))
    assert "Is it?" in demonstration
    assert " yes" in demonstration
    assert demonstration.endswith("\n")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", "_ _"], r"label '_ _' cannot be its own label word"),
        (["a_b", "a b"], r"labels 'a_b' and 'a b' share the label word 'a b'"),
        (["a", "a"], r"label 'a' is given twice"),
        (["a"], r"at least two labels"),
    ],
)
def test_labels_that_cannot_be_words_are_named(labels: Sequence[str], said: str) -> None:
    with pytest.raises(InvalidVerbalizer, match=said) as caught:
        Verbalizer.of_labels(labels)
    assert caught.value.field.startswith("verbalizer")


def test_request_takes_what_was_given_and_says_nothing() -> None:
    given = TaskRequest((Template("{text} {label}"),), Verbalizer({"b": "B", "a": "A"}), "\n\n")
    task, others = given.complete(examples_of("a", "b"))
    assert others == ()
    assert task == Task(Template("{text} {label}"), Verbalizer({"b": "B", "a": "A"}), "\n\n")
    assert given.list_defaults(task) == ()


def test_request_says_what_was_taken_by_default() -> None:
    request = TaskRequest()
    task = request.complete(examples_of("good", "not_good")).task
    assert task == Task.for_labels(["good", "not_good"])
    assert request.list_defaults(task) == (
        f"no template was given; the default is taken: {DEFAULT_TEMPLATE!r}",
        "no label words were given; each label is its own: 'good', 'not good' for 'not_good'",
    )


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        (("Sentiment", "sentiment", "SENTIMENT", "sentiment_label", "label.sentiment"), "Sentiment"),
        (("question_type", "question type", "question-type", "questionType"), "Question type"),
        (("airline_sentiment",), "Airline sentiment"),
        (("Stimmung",), "Stimmung"),
        (("情感",), "情感"),
        (
            ("label", "Label", "class", "y", "target", "category", "category?", "id", "col3", "column 2", "gold_label"),
            "Topic",
        ),
        (("is_spam", "has_refund", "y_true", "cl", "{x}", "a" * 31, "", "label_id"), "Topic"),
        ((None,), "Topic"),
    ],
)
def test_default_template_has_the_name_of_the_column_of_labels(columns: Sequence[str | None], word: str) -> None:
    for column in columns:
        task = TaskRequest().complete(examples_of("a", "b"), label_column=column).task
        assert task.template.pattern == f"{{text}} {word}: {{label}}."
    given = TaskRequest((Template("{text} {label}"),)).complete(examples_of("a", "b"), label_column="sentiment").task
    assert given.template.pattern == "{text} {label}"


def test_long_list_of_words_is_cut() -> None:
    request = TaskRequest((Template("{text} {label}"),))
    (said,) = request.list_defaults(request.complete(examples_of(*(f"l{number:02}" for number in range(13)))).task)
    assert said.endswith("'l09' and 3 more")


def test_rows_with_one_label_are_refused_as_a_fault_of_the_dataset() -> None:
    with pytest.raises(InvalidDataset, match="every row has the label 'a'") as caught:
        TaskRequest().complete(examples_of("a", "a"))
    assert caught.value.field == "dataset.label"


def test_request_of_several_completes_to_every_wording_and_says_so() -> None:
    request = TaskRequest((Template("{text} {label}"), Template("{text}: {label}")), instructions=("Do.", ""))
    task, others = request.complete(examples_of("a", "b"))
    words = {"a": "a", "b": "b"}
    assert task == Task("{text} {label}", words, instruction="Do.")
    assert others == (
        Task("{text} {label}", words),
        Task("{text}: {label}", words, instruction="Do."),
        Task("{text}: {label}", words),
    )
    assert request.list_defaults(task)[-1] == (
        "the run compares prompts in 4 wordings (2 templates with 1 instruction and none), and chooses one"
    )


def test_request_of_templates_alone_speaks_of_no_instruction() -> None:
    request = TaskRequest((Template("{text} {label}"), Template("{text}: {label}")), Verbalizer({"a": "A", "b": "B"}))
    (said,) = request.list_defaults(request.complete(examples_of("a", "b")).task)
    assert "in 2 wordings (2 templates), " in said


def test_request_for_too_many_wordings_is_refused_before_any_row_is_read() -> None:
    with pytest.raises(InvalidInstruction, match="are 17 wordings, and a run chooses among at most 16"):
        TaskRequest(instructions=tuple(f"Do {number}." for number in range(17)))


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
