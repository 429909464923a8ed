"""DSPy loads what is written for it, and asks a model what it should."""

from pathlib import Path
from typing import Any

import pytest

from lens_engine.exports import FORMATS, Source
from lens_engine.task.template import Task
from tests.endpoints.chat_double import ChatDouble
from tests.endpoints.double import serving
from tests.unit.lens_engine.test_exports import AWKWARD, INPUT, INSTRUCTED, TURNS, make_source, written

ODD_TASK = Task("{text}: {label}", {"a": " spaced  ", "b": "two\n  lines\n \t\n", "c": "{good}"})


def ask_dspy(source: Source, text: str, folder: Path) -> list[dict[str, str]]:
    """The messages that DSPy makes of the state for a live input."""
    import dspy

    (folder / "state.json").write_text(written(source, "dspy"), "utf-8")
    program = dspy.Predict("text -> label")
    program.load(folder / "state.json")
    assert program.demos == [{"text": text, "label": word} for text, word in source.demonstrations]
    messages: list[dict[str, str]] = dspy.ChatAdapter().format(program.signature, program.demos, {"text": text})
    return messages


@pytest.mark.parametrize(
    "source",
    [
        make_source(TURNS),
        make_source([]),
        make_source([(" \n", " spaced  "), ("\n x \u3000\n", "two\n  lines\n \t\n")], ODD_TASK),
        make_source([], ODD_TASK),
        make_source(TURNS, INSTRUCTED),
    ],
    ids=["demonstrations", "none", "blank", "odd label words", "instruction"],
)
def test_messages_are_those_that_dspy_sends(source: Source, tmp_path: Path) -> None:
    write = FORMATS["dspy"].messages
    assert write is not None
    *turns, live, answer = write(source)
    for text in [*AWKWARD, INPUT, " \n a\n\n "]:
        shown = {**live, "content": live["content"].replace("{text}", text)}
        assert [*turns, shown] == ask_dspy(source, text, tmp_path)
    assert answer == {"role": "assistant", "content": "[[ ## label ## ]]\n"}


def test_dspy_reads_an_answer_that_begins_so() -> None:
    import dspy

    write = FORMATS["dspy"].messages
    assert write is not None
    begun = write(make_source([]))[-1]["content"]
    found = dspy.ChatAdapter().parse(dspy.Signature("text -> label"), f"{begun}{{good}}\n\n[[ ## completed ## ]]\n")
    assert found == {"label": "{good}"}


def test_dspy_asks_a_server_without_system_messages_as_the_page_says(tmp_path: Path) -> None:
    import dspy

    def say_label(answer: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": "[[ ## label ## ]]\ngood\n\n[[ ## completed ## ]]"}
        return answer | {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    source = make_source(TURNS)
    (tmp_path / "state.json").write_text(written(source, "dspy"), "utf-8")
    program = dspy.Predict("text -> label")
    program.load(tmp_path / "state.json")
    with serving(ChatDouble(fault=say_label)) as double:
        lm = dspy.LM("openai/m", api_base=f"{double.url}/v1", api_key="k", supports_system_message=False, cache=False)
        with dspy.context(lm=lm):
            assert program(text="a text").label == "good"
    (asked,) = double.bodies
    assert [one["role"] for one in asked["messages"]] == [*["user", "assistant"] * len(TURNS), "user"]
    assert source.system in asked["messages"][0]["content"]
