"""An instruction stands once before the demonstrations of every prompt, with demonstrations or without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import InvalidInstruction
from lens_engine.prompt.chat import ask_for_letters, ask_for_words, read_turns
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.request import TaskRequest
from lens_engine.prompt.template import MAX_INSTRUCTION_CHARACTERS, EndedTask, Task, suggest_instructions
from lens_engine.prompt.text_checks import is_blank
from lens_engine.show.sentences import describe_asking
from lens_engine.types import Example

WORDS = {"a": "Alpha", "b": "Beta"}
TASK = Task("{text} Topic: {label}.", WORDS, instruction="Which {text}?")
SHOWN = [Example(0, "one", "a"), Example(1, "two", "b")]
ODD = st.text(st.sampled_from("{}%\n\r\\ aé🎬") | st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)


def test_prefix_begins_with_the_instruction_and_the_separator() -> None:
    assert TASK.render_prefix(SHOWN) == ("Which {text}?\n", "one Topic: Alpha.\n", "two Topic: Beta.\n")
    assert TASK.render_prefix([]) == ("Which {text}?\n",)
    assert TASK.render_prompt([], "x") == "Which {text}?\nx Topic:"
    assert TASK.render_permutations(SHOWN, [(1,), ()]) == [
        ("Which {text}?\n", "two Topic: Beta.\n"),
        ("Which {text}?\n",),
    ]
    assert Task("{text} {label}", WORDS, " ## ", instruction="Do.").render_prefix([]) == ("Do. ## ",)
    assert Task("{text} {label}", WORDS).render_prefix([]) == ()


@given(ODD.filter(lambda text: not is_blank(text)))
def test_any_instruction_comes_out_as_it_went_in(instruction: str) -> None:
    task = Task("{text} Topic: {label}.", WORDS, instruction=instruction)

    assert task.render_prompt(SHOWN[:1], "x") == f"{instruction}\none Topic: Alpha.\nx Topic:"
    chat = ask_for_words(task, ["Alpha", "Beta"])
    (system, *_) = read_turns(chat.render_prompt(SHOWN[:1], "x"))
    assert system["content"] == f"{instruction}\nAnswer with one of these labels and nothing else: Alpha, Beta."


def test_chat_has_the_instruction_once_in_the_system_message() -> None:
    chat = ask_for_words(TASK, ["Alpha", "Beta"])
    system = "Which {text}?\nAnswer with one of these labels and nothing else: Alpha, Beta."

    turns = read_turns(chat.render_prompt(SHOWN, "three"))

    assert [turn["content"] for turn in turns] == [system, "one Topic:", "Alpha", "two Topic:", "Beta", "three Topic:"]
    assert chat.render_prefix([]) == ()
    assert repr(system) in describe_asking(TaskRecord.of(chat))
    assert describe_asking(TaskRecord.of(TASK)).endswith("The instruction before all examples: 'Which {text}?'.")
    assert describe_asking(TaskRecord.of(EndedTask(TASK, "."))).endswith("scored with its end: '.'.")
    plain = describe_asking(TaskRecord.of(Task("{text} {label}", WORDS)))
    assert plain == "After the examples stands the text to classify: '{text}'. The model goes on."
    letters = ask_for_letters(TASK)
    assert letters.system.startswith("Which {text}?\nAnswer with the letter")


@pytest.mark.parametrize(
    "task", [TASK, EndedTask(TASK, "."), ask_for_words(TASK, ["A", "B"])], ids=["plain", "ended", "chat"]
)
def test_record_gives_the_instruction_again(task: Task) -> None:
    record = TaskRecord.of(task)

    assert record.instruction == "Which {text}?"
    assert TaskRecord.model_validate_json(record.model_dump_json()).task() == task
    assert record.task().render_prompt(SHOWN, "x") == task.render_prompt(SHOWN, "x")


def test_what_ends_label_words_leaves_the_instruction() -> None:
    ended = EndedTask(TASK, ".")

    assert ended.render_prefix(SHOWN) == TASK.render_prefix(SHOWN)
    assert ended.without_end() == TASK


def test_every_way_to_a_task_takes_an_instruction() -> None:
    assert Task.for_labels(WORDS, instruction="Do.").instruction == "Do."
    assert Task.for_examples(SHOWN, instruction="Do.").instruction == "Do."
    assert TaskRequest(instructions=("Do.",)).complete(SHOWN).task.instruction == "Do."


@pytest.mark.parametrize(
    ("instruction", "complaint"),
    [
        (" \n\t", "has only spaces; write a text, or leave it out"),
        ("\u200b\u2060", "has only spaces"),
        ("a\x00b", "holds NUL or half a surrogate pair; take it out"),
        ("a\ud800b", "holds NUL or half a surrogate pair; take it out"),
        ("a" + "\u0301" * 31, r"more than 30 combining marks \(accents\) in a row"),
        ("a" * (MAX_INSTRUCTION_CHARACTERS + 1), "has 20,001 characters; at most 20,000 are allowed"),
    ],
    ids=["spaces", "invisible", "NUL", "surrogate", "marks", "long"],
)
def test_instruction_that_no_prompt_can_hold_is_refused(instruction: str, complaint: str) -> None:
    with pytest.raises(InvalidInstruction, match=f"the instruction {complaint}|{complaint}") as refusal:
        Task("{text} {label}", WORDS, instruction=instruction)
    assert refusal.value.field == "instruction"


def test_instruction_that_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="the instruction of a task is of type NoneType; give a str"):
        Task("{text} {label}", WORDS, instruction=None)  # type: ignore[arg-type]


def test_suggested_instructions_hold_the_label_words() -> None:
    found = suggest_instructions(["Alpha", "Beta", "Gamma"])

    assert len(set(found)) == 3
    assert all(word in one for one in found for word in ("Alpha", "Beta", "Gamma"))
    assert sum(one.endswith("?") for one in found) == 1
    assert "The labels are Alpha, Beta and Gamma." in found


def test_suggested_instructions_list_twenty_label_words_at_most() -> None:
    words = [f"word{number}" for number in range(21)]

    assert all("word19" in one for one in suggest_instructions(words[:20]))
    many = suggest_instructions(words)
    assert len(set(many)) == 3
    assert not any("word" in one for one in many)
    assert any("21" in one for one in many)
    for one in (*many, *suggest_instructions(words[:2])):
        assert Task("{text} {label}", WORDS, instruction=one).instruction == one
