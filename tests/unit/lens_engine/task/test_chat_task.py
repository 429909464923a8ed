"""A task as turns of a chat: its segments, and its record."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import InvalidVerbalizer
from lens_engine.show.sentences import describe_asking
from lens_engine.task.chat import (
    MOST_LETTERS,
    ChatForm,
    ChatTask,
    ask_for_letters,
    ask_for_words,
    read_turns,
    write_turns,
)
from lens_engine.task.record import TaskRecord
from lens_engine.task.template import Task
from lens_engine.types import Example

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
