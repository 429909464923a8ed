"""Each format of exports gives the texts and label words again, in order, whatever is in them."""

import csv
import io
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import InvalidConfig
from lens_engine.prompt.chat import ask_for_words
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task
from lens_engine.result import SupportExample
from lens_engine.show.exports import FORMATS, FormatName, Source, escape, export_support_examples, write_export
from lens_engine.types import Example
from tests.formed import take_form
from tests.unit.lens_cli.results import make_answer, make_result

AWKWARD = [
    "{x} and {text}",
    "{{x}} {% if y %} {# z #} {{ 'a' }}",
    "100 % %s $text ${text}",
    "\"quotes\" and 'quotes' and \\ and `ticks`",
    "lines\nand\r\nmore\n\n",
    "emoji 🎬🏽 and 日本語 and e\u0301",
    "עברית וגם ‫RTL‬",
    "\u2028\u0085\x00\x1b",
    "=1+1",
    "@here",
    "0",
]
TASK = Task("{text} It was {label}.", {"zero": "0", "good": "{good}", "other": "it's 🎬"})
INSTRUCTED = Task(
    TASK.template, TASK.verbalizer, instruction="Which {label}, {{ 'x' }} or {% y %}?\r\n{# 🎬 #}\rlast\n"
)
"""A task with an instruction that other tools could take for tags of theirs."""
TASKS = pytest.mark.parametrize("task", [TASK, INSTRUCTED], ids=["plain", "instructed"])
SYSTEM = "Answer with one of these labels and nothing else: 0, {good}, it's 🎬."
TURNS = [(text, ("0", "{good}", "it's 🎬")[place % 3]) for place, text in enumerate(AWKWARD)]
NOTE = (
    "The best prompt has the form nearest 2, right for 181 of 200 test texts (91 %), which this format cannot hold. "
    "This is its fixed form, right for 181 of 200 test texts (91 %)."
)
INPUT = 'The {x} "live" {{input}} 🎬 {% raw %}'


def make_source(turns: list[tuple[str, str]], task: Task = TASK) -> Source:
    labels = {word: label for label, word in task.verbalizer.words.items()}
    examples = tuple(
        SupportExample(
            position=place, row=place, text=text, label=labels[word], label_word=word, info_score=None, tokens=1
        )
        for place, (text, word) in enumerate(turns)
    )
    prompt = "".join(task.render_prefix([Example(one.row, one.text, one.label) for one in examples]))
    answer = make_answer("prompt").model_copy(update={"examples": examples, "prompt": prompt})
    return Source(TaskRecord.of(task), answer, "a-model")


def written(source: Source, format: FormatName) -> str:
    return write_export(source, format).decode()


def roles(source: Source, assistant: str) -> list[tuple[str, str]]:
    return [pair for text, word in source.demonstrations for pair in (("user", text), (assistant, word))]


def read_openai(shown: Any) -> list[tuple[str, str]]:
    return [(one["role"], one["content"]) for one in shown["messages"]]


def read_gemini(shown: Any) -> list[tuple[str, str]]:
    return [(one["role"], "".join(part["text"] for part in one["parts"])) for one in shown["contents"]]


def render_promptfoo(shown: Any) -> list[tuple[str, str]]:
    """promptfoo renders the strings of a JSON prompt one by one, by Nunjucks, whose tags are those of Jinja."""
    return [(one["role"], jinja2.Environment().from_string(one["content"]).render(text=INPUT)) for one in shown]


@pytest.mark.parametrize(
    ("format", "read", "assistant"),
    [
        ("openai-chat", read_openai, "assistant"),
        ("anthropic", read_openai, "assistant"),
        ("gemini", read_gemini, "model"),
    ],
)
def test_turns_are_the_examples_and_the_last_is_the_slot(
    format: FormatName, read: Callable[[Any], list[tuple[str, str]]], assistant: str
) -> None:
    source = make_source(TURNS)
    system = [("system", SYSTEM)] if format == "openai-chat" else []
    assert read(json.loads(written(source, format))) == [*system, *roles(source, assistant), ("user", "{text}")]


@pytest.mark.parametrize("format", sorted(FORMATS.keys() - {"csv", "jsonl"}))
def test_every_format_with_a_place_has_the_instruction(format: FormatName) -> None:
    task = Task(TASK.template, TASK.verbalizer, instruction="Which canary?")
    for turns in (TURNS, []):
        assert written(make_source(turns, task), format).count("Which canary?") == (2 if format == "json" else 1)


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(["0", "{good}"])), max_size=4)
)
@TASKS
def test_any_text_comes_through_every_format(task: Task, turns: list[tuple[str, str]]) -> None:
    source = make_source(turns, task)
    expected = [{"text": text, "label": word} for text, word in turns]
    assert [json.loads(line) for line in written(source, "jsonl").split("\n")[:-1]] == expected
    assert json.loads(written(source, "dspy"))["demos"] == expected
    assert json.loads(written(source, "json"))["support_examples"]["prompt"] == source.answer.prompt
    assert written(source, "text") == f"{source.answer.prompt}{{text}} It was"
    assert write_export(source, "markdown")


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_best_prompt_of_another_form_is_told_in_a_comment(format: FormatName) -> None:
    result = make_result(task=TaskRecord.of(TASK))
    content = export_support_examples(take_form(result, "nearest"), format).decode()
    fixed = export_support_examples(result, format).decode()
    if format == "json":
        assert json.loads(content)["note"] == NOTE
        assert json.loads(content)["support_examples"]["examples"] == json.loads(fixed)["support_examples"]["examples"]
    else:
        assert content.replace(f"{NOTE}\n\n", "") == fixed
        assert (NOTE in content) == (format == "markdown")


def test_promptfoo_renders_each_message_as_it_is() -> None:
    source = make_source([turn for turn in TURNS if "\r" not in turn[0] and not turn[0].endswith("\n")])
    rendered = render_promptfoo(json.loads(written(source, "promptfoo")))
    assert rendered == [("system", SYSTEM), *roles(source, "assistant"), ("user", INPUT)]
    instructed = Task(TASK.template, TASK.verbalizer, instruction="{{ x }} or {% y %}? {# z #}")
    system, *_ = render_promptfoo(json.loads(written(make_source([], instructed), "promptfoo")))
    assert system == ("system", f"{{{{ x }}}} or {{% y %}}? {{# z #}}\n{SYSTEM}")


def test_end_of_a_comment_is_no_mark_of_nunjucks() -> None:
    """Nunjucks refuses one without a beginning; Jinja does not."""
    assert escape("a #} b {#} c") == "a {{ '#}' }} b {{ '{#' }}} c"


def load_langchain(content: str) -> Any:
    from langchain_core.load import loads

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `loads` is beta, and says so once in a process
        return loads(content, allowed_objects="core")


def test_langchain_loads_and_formats_the_same_turns() -> None:
    source = make_source(TURNS)
    loaded = load_langchain(written(source, "langchain"))
    messages = loaded.format_messages(text=INPUT)
    shown = [({"human": "user", "ai": "assistant"}.get(one.type, one.type), one.content) for one in messages]
    assert shown == [("system", SYSTEM), *roles(source, "assistant"), ("user", INPUT)]
    assert loaded.input_variables == ["text"]
    system, *others = load_langchain(written(make_source(TURNS, INSTRUCTED), "langchain")).format_messages(text=INPUT)
    assert (system.type, system.content) == ("system", f"{INSTRUCTED.instruction}\n{SYSTEM}")
    assert others == messages[1:]


def test_cell_that_a_spreadsheet_would_run_is_escaped() -> None:
    source = make_source(
        [(text, "0") for text in ("=1+1", "+1+x", "-x", "-1.5", "@x", "\tx", "\rx", "a=1", 'a "b", c\nd')]
    )
    rows = list(csv.reader(io.StringIO(written(source, "csv"), newline="")))
    texts = ["'=1+1", "'+1+x", "'-x", "-1.5", "'@x", "'\tx", "'\rx", "a=1", 'a "b", c\nd']
    assert rows == [["text", "label"], *([text, "0"] for text in texts)]


CHATS: dict[FormatName, Callable[[str], str]] = {
    "openai-chat": lambda content: json.loads(content)["messages"][0]["content"],
    "anthropic": lambda content: json.loads(content)["system"],
    "gemini": lambda content: json.loads(content)["systemInstruction"]["parts"][0]["text"],
    "langchain": lambda content: load_langchain(content).format_messages(text=INPUT)[0].content,
    "dspy": lambda content: json.loads(content)["signature"]["instructions"],
    "promptfoo": lambda content: render_promptfoo(json.loads(content))[0][1],
}
"""Each format of a chat, and how its system message is read."""


@pytest.mark.parametrize("format", CHATS)
@pytest.mark.parametrize("task", [TASK, ask_for_words(TASK, ["0", "{good}", "it's"])], ids=["text", "chat"])
@pytest.mark.parametrize("turns", [TURNS[:1], []], ids=["demonstrations", "none"])
def test_system_messages_name_the_label_words(format: FormatName, task: Task, turns: list[tuple[str, str]]) -> None:
    assert CHATS[format](written(make_source(turns, task), format)) == SYSTEM


def test_result_and_its_file_give_the_same_bytes(tmp_path: Path) -> None:
    result = make_result().model_copy(update={"task": TaskRecord.of(TASK)})
    (tmp_path / "result.json").write_text(result.model_dump_json())
    for format in FORMATS:
        content = export_support_examples(result, format)
        assert content
        assert export_support_examples(tmp_path / "result.json", format) == content
    both = {export_support_examples(result, "json", use=use) for use in ("prompt", "probabilities")}
    assert len(both) == 2


def test_unknown_format_or_use_is_refused_with_those_there_are() -> None:
    assert set(get_args(FormatName)) == set(FORMATS)
    wrong: Any = "yaml"
    gone: Any = "folder"
    with pytest.raises(InvalidConfig, match=re.escape("there is no format 'yaml'; take json, text")):
        export_support_examples(make_result(), wrong)
    with pytest.raises(InvalidConfig, match=r"there is no format 'folder'; take json, text, .*, promptfoo, markdown$"):
        export_support_examples(make_result(), gone)
    with pytest.raises(InvalidConfig, match="take prompt or probabilities"):
        export_support_examples(make_result(), use=wrong)
