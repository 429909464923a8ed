"""The exports of a chat have the turns that were evaluated."""

import json
from typing import Any

import jinja2
import pytest

from lens_engine.prompt.chat import ask_for_words, read_turns
from lens_engine.prompt.template import Task
from lens_engine.show.exports import FORMATS, Source
from tests.unit.lens_engine.test_exports import AWKWARD, INPUT, load_langchain, make_source, written

TEXT_TASK = Task("Q {{1}}: {text}\nIt was {label}.", {"zero": "Billing", "good": "{good} %}", "other": "Delivery"})
TASK = ask_for_words(TEXT_TASK, ["Billing", "{good}", "Delivery"])
INSTRUCTED = ask_for_words(
    Task(TEXT_TASK.template, TEXT_TASK.verbalizer, instruction="Which {text}, {{ 'x' }} or {% y %}?\n{# 🎬 #}"),
    TASK.label_spans,
)


TURNS = [(text, ("Billing", "{good} %}", "Delivery")[place % 3]) for place, text in enumerate(AWKWARD)]
SOURCE = make_source(TURNS, TASK)
SOURCES = pytest.mark.parametrize(
    "source",
    [SOURCE, make_source(TURNS, INSTRUCTED), make_source([], INSTRUCTED)],
    ids=["plain", "instructed", "without examples"],
)


def evaluated(text: str = "{text}", source: Source = SOURCE) -> list[tuple[str, str]]:
    """Roles and contents of what was asked for an input."""
    return pairs(read_turns(source.task.task().join_prompt(source.answer.prompt, text)))


def pairs(messages: Any) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in messages]


@SOURCES
def test_turns_are_those_that_were_evaluated(source: Source) -> None:
    assert pairs(json.loads(written(source, "openai-chat"))["messages"]) == evaluated(source=source)
    anthropic = json.loads(written(source, "anthropic"))
    system = [("system", anthropic["system"])]
    assert [*system, *pairs(anthropic["messages"])] == evaluated(source=source)
    gemini = json.loads(written(source, "gemini"))
    roles = {"user": "user", "model": "assistant"}
    turns = [(roles[one["role"]], one["parts"][0]["text"]) for one in gemini["contents"]]
    system = [("system", part["text"]) for part in gemini["systemInstruction"]["parts"]]
    assert [*system, *turns] == evaluated(source=source)
    assert pairs(read_turns(written(source, "text"))) == evaluated(source=source)


def test_promptfoo_renders_the_turns_that_were_evaluated() -> None:
    environment = jinja2.Environment(keep_trailing_newline=True)
    few = [turn for turn in TURNS if "\r" not in turn[0]]
    for task, turns in ((TASK, few), (INSTRUCTED, few), (INSTRUCTED, [])):
        plain = make_source(turns, task)
        shown = json.loads(written(plain, "promptfoo"))
        rendered = [(one["role"], environment.from_string(one["content"]).render(text=INPUT)) for one in shown]
        assert rendered == evaluated(INPUT, plain)


@SOURCES
def test_langchain_formats_the_turns_that_were_evaluated(source: Source) -> None:
    loaded = load_langchain(written(source, "langchain"))
    names = {"human": "user", "ai": "assistant", "system": "system"}
    assert [(names[one.type], one.content) for one in loaded.format_messages(text=INPUT)] == evaluated(INPUT, source)


def test_formats_say_whether_they_have_what_was_evaluated() -> None:
    text = make_source(TURNS, TEXT_TASK).task
    of_text = {name for name, one in FORMATS.items() if one.is_evaluated_prompt(text)}
    of_chat = {name for name, one in FORMATS.items() if one.is_evaluated_prompt(SOURCE.task)}
    assert of_text == {"text", "json"}
    assert of_chat == of_text | {"openai-chat", "anthropic", "gemini", "langchain", "promptfoo"}
