import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import InvalidTemplate, InvalidVerbalizer
from lens_engine.prompt.chat import (
    MOST_LETTERS,
    ChatForm,
    ChatTask,
    ask_for_letters,
    ask_for_words,
    read_turns,
    write_turns,
)
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer, find_silent, warn_of_silent
from lens_engine.show.sentences import describe_asking
from lens_engine.types import Example

WORDS = {"negative": "terrible", "positive": "great"}
NASTY = st.text(st.sampled_from("{}%\n\\ aé$") | st.characters(codec="utf-8"), max_size=20)
NASTY_TEXTS = st.lists(
    st.sampled_from(["{label}", "{text}", "{{", "}}", "%s", "%(text)s", "\n", "{0}", "{text.__class__}"]) | NASTY,
    max_size=6,
).map("".join)


def make_task(pattern: str, separator: str = "\n") -> Task:
    return Task(Template(pattern), Verbalizer(WORDS), separator)


@given(text=NASTY_TEXTS, word=NASTY_TEXTS)
def test_any_text_and_word_come_out_as_they_went_in(text: str, word: str) -> None:
    template = Template("Review: {text}\nIt was {label}.")

    assert template.render_query(text) == f"Review: {text}\nIt was"
    assert template.render_span(word) == f" {word}"


@given(texts=st.lists(NASTY_TEXTS, max_size=4), query=NASTY_TEXTS)
def test_prompt_is_the_concatenation_of_its_segments(texts: list[str], query: str) -> None:
    task = make_task("{text} It was {label}.")
    demonstrations = [Example(row, text, "positive") for row, text in enumerate(texts)]

    prompt = task.render_prompt(demonstrations, query)

    assert prompt == "".join([*task.render_prefix(demonstrations), task.render_query(query)])
    assert prompt == "".join(f"{text} It was great.\n" for text in texts) + f"{query} It was"


@given(text=NASTY_TEXTS, spaces=st.integers(1, 4))
def test_spaces_before_the_label_belong_to_its_span(text: str, spaces: int) -> None:
    task = make_task("{text} It was" + " " * spaces + "{label}.")

    assert not task.render_prompt([Example(0, text, "negative")], text).endswith(" ")
    assert task.label_spans == (" " * spaces + "terrible", " " * spaces + "great")


def test_line_break_before_the_label_stays_in_the_query() -> None:
    task = make_task("{text}\n{label}")

    assert task.render_query("a") == "a\n"
    assert task.label_spans == ("terrible", "great")


def test_demonstration_holds_the_tail_and_the_separator() -> None:
    task = make_task("<{text}> = {label}!", separator=" ## ")

    assert task.render_demonstration(Example(3, "fine", "positive")) == "<fine> = great! ## "
    assert task.template.tail == "!"


def test_escaped_braces_come_out_as_braces() -> None:
    task = make_task('{{"input": "{text}", "label": "{label}"}}', separator="")

    assert task.render_demonstration(Example(0, "a", "positive")) == '{"input": "a", "label": "great"}'


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("It was {label}.", r"no \{text\} slot"),
        ("{text} It was good.", r"no \{label\} slot"),
        ("", r"no \{text\} slot"),
        ("{{text}} {label}", r"\{\{text\}\} at position 0 is no slot but text in braces; write \{text\}, in single"),
        ("{text} Topic: {{ label }}", r"\{\{ label \}\} at position 14 is no slot but text in braces; write \{label\}"),
        ("{text} {text} {label}", r"\{text\} is repeated at position 7"),
        ("{text} is {label} {label}", r"\{label\} is repeated at position 18"),
        ("{text} {mood} {label}", r"\{mood\} at position 7 is not a slot"),
        ("{{}} {text} {mood} {label}", r"\{mood\} at position 12 is not a slot"),
        ("{text} {} {label}", r"\{\} at position 7 is not a slot"),
        ("{text} {0} {label}", r"\{0\} at position 7"),
        ("{text.__class__} {label}", r"\{text.__class__\} at position 0"),
        ("{text[0]} {label}", r"\{text\[0\]\} at position 0"),
        ("a {text!r} {label}", r"\{text\} at position 2 is not a slot"),
        ("{text} {label:>10}", r"\{label\} at position 7 is not a slot"),
        ("{text:{label}} {label}", r"\{text\} at position 0"),
        ("{label}: {text}", r"\{label\} comes before \{text\}"),
        ("{text} is } {label}", r"near position 6"),
        ("{text} {label", r"near position"),
        ("{text} {label} {", r"near position"),
        ("{ text} {label}", r"\{ text\} at position 0"),
        ("{TEXT} {label}", r"\{TEXT\} at position 0"),
    ],
)
def test_malformed_pattern_is_refused_with_its_place(pattern: str, complaint: str) -> None:
    with pytest.raises(InvalidTemplate, match=complaint) as refusal:
        Template(pattern)
    assert refusal.value.field == "template"


def test_long_unknown_slot_is_shortened_in_the_message() -> None:
    with pytest.raises(InvalidTemplate, match=r"x{40}…") as refusal:
        Template("{text} {" + "x" * 500 + "} {label}")
    assert len(str(refusal.value)) < 300


def test_endless_pattern_is_refused() -> None:
    with pytest.raises(InvalidTemplate, match="at most 20000"):
        Template("{text} " + "x" * 20_000 + " {label}")


@given(pattern=st.text(st.sampled_from("{}textlabel !:.[]0 "), max_size=30))
def test_any_pattern_is_parsed_or_refused_in_our_words(pattern: str) -> None:
    with suppress(InvalidTemplate):
        assert "X" in Template(pattern).render_query("X")


@pytest.mark.parametrize(
    ("words", "complaint", "field"),
    [
        ({}, "at least two labels; it has 0", "verbalizer"),
        ({"a": "x"}, "at least two labels; it has 1", "verbalizer"),
        ({"a": "x", "b": ""}, "'b' has an empty label word", "verbalizer.b"),
        ({"a": "x", "b": "  "}, "'b' has an empty label word", "verbalizer.b"),
        ({"a": "x", "b": "y", "c": "x"}, "'a' and 'c' share the label word 'x'", "verbalizer.c"),
        ({"a": "caf\u00e9", "b": "cafe\u0301"}, "'a' and 'b' share", "verbalizer.b"),
        ({"a": "x", "A ": "x"}, "give each a word of its own, or remove one of them", "verbalizer.A "),
    ],
)
def test_indistinct_label_words_are_refused(words: dict[str, str], complaint: str, field: str) -> None:
    with pytest.raises(InvalidVerbalizer, match=complaint) as refusal:
        Verbalizer(words)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    "label", ["0", "-1", "12", "1.0", "A", "b", "LABEL_3", "class 2", "Class-7", "cat_17", "cluster#4", "B2", "c-04"]
)
def test_words_that_say_nothing_are_found(label: str) -> None:
    assert find_silent(Verbalizer.of_labels([label, "refund"])) == [label]


@pytest.mark.parametrize(
    "label", ["yes", "no", "5 stars", "refund", "3d printing", "type 2 diabetes", "好", "ok", "b2b", "MP3", "CO2"]
)
def test_words_that_say_something_are_not(label: str) -> None:
    assert find_silent(Verbalizer.of_labels([label, "other"])) == []


def test_word_decides_and_not_the_label() -> None:
    assert find_silent(Verbalizer({"0": "negative", "1": "1"})) == ["1"]


def test_sentence_names_the_first_words() -> None:
    (said,) = warn_of_silent(Verbalizer.of_labels([f"LABEL_{number}" for number in range(12)]))
    assert said.startswith("the label words 'LABEL 0', 'LABEL 1', ")
    assert " and 2 more say nothing of what they stand for" in said
    assert warn_of_silent(Verbalizer.of_labels(["good", "bad"])) == []


TASK = Task("Message: {text}\nTopic: {label}!\n\n", {"a": "Alpha", "b": "Beta"})
TURNS = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": st.text()}), min_size=1
)


@given(TURNS, TURNS)
def test_joined_segments_are_all_their_turns(first: list[dict[str, str]], second: list[dict[str, str]]) -> None:
    assert read_turns(write_turns(first) + write_turns(second)) == [*first, *second]


@pytest.mark.parametrize("text", ["", "Alpha", '{"content":', '{"content":1}\n', '{"content":"x"}\n[1]\n'])
def test_text_has_no_turns(text: str) -> None:
    assert read_turns(text) == []


def test_chat_has_the_template_up_to_the_word_and_the_bare_word() -> None:
    chat = ask_for_words(TASK, ["Al", "Beta"])
    prompt = chat.render_prompt([Example(0, 'one "x"\ntwo', "a"), Example(1, "three", "b")], "four")

    assert read_turns(prompt) == [
        {"role": "system", "content": "Answer with one of these labels and nothing else: Alpha, Beta."},
        {"role": "user", "content": 'Message: one "x"\ntwo\nTopic:'},
        {"role": "assistant", "content": "Alpha"},
        {"role": "user", "content": "Message: three\nTopic:"},
        {"role": "assistant", "content": "Beta"},
        {"role": "user", "content": "Message: four\nTopic:"},
    ]
    assert chat.label_spans == ("Al", "Beta")


def test_letters_stand_for_the_label_words() -> None:
    chat = ask_for_letters(TASK)

    assert chat.chat.system.endswith("\nA: Alpha\nB: Beta")
    assert chat.verbalizer.words == {"a": "A", "b": "B"}
    assert chat.label_spans == ("A", "B")
    many = {str(number): f"word {number}" for number in range(MOST_LETTERS + 1)}
    with pytest.raises(InvalidVerbalizer, match="at most, and there are 21"):
        ask_for_letters(Task("{text} {label}", many))


def test_record_gives_the_chat_again_and_leaves_texts_as_they_were() -> None:
    chat = ask_for_words(TASK, ["Al", "Beta"])
    record = TaskRecord.of(chat)

    assert TaskRecord.model_validate_json(record.model_dump_json()).task() == chat
    assert chat != TASK
    assert list(json.loads(TaskRecord.of(TASK).model_dump_json())) == ["template", "label_words", "separator"]
    assert list(TaskRecord.of(TASK).model_dump()) == ["template", "label_words", "separator"]
    assert TaskRecord.of(TaskRecord.of(TASK).task()) == TaskRecord.of(TASK)


def test_fields_of_requests_are_stored_and_told_if_there_are_any() -> None:
    plain = ChatForm(system="x", answers=("A", "B"))
    asked = plain.model_copy(update={"fields": {"temperature": None, "effort": "low"}})

    assert list(json.loads(plain.model_dump_json())) == ["system", "answers", "is_sampled"]
    assert ChatForm.model_validate_json(plain.model_dump_json()) == plain
    assert ChatForm.model_validate_json(asked.model_dump_json()) == asked
    told, more = (describe_asking(TaskRecord.of(TASK).model_copy(update={"chat": one})) for one in (plain, asked))
    assert "Further fields" not in told
    assert 'Further fields of each request: {"temperature": null, "effort": "low"}.' in more


def test_chat_has_an_answer_for_each_label() -> None:
    with pytest.raises(InvalidVerbalizer, match="2 labels have 1 answers"):
        ChatTask(TASK, ChatForm(system="x", answers=("Alpha",)))
