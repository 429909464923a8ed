"""DSPy loads what is written for it, and asks a model what it should."""

from pathlib import Path
from typing import Any

import pytest

from lens_engine.show.exports import Source
from tests.endpoints.chat_double import ChatDouble
from tests.endpoints.double import serving
from tests.unit.lens_engine.test_exports import INPUT, INSTRUCTED, SYSTEM, TURNS, make_source, written


@pytest.mark.parametrize(
    "source", [make_source(TURNS), make_source([]), make_source(TURNS, INSTRUCTED)], ids=["plain", "none", "instructed"]
)
def test_dspy_sends_the_demonstrations_and_names_the_label_words(source: Source, tmp_path: Path) -> None:
    import dspy

    (tmp_path / "state.json").write_text(written(source, "dspy"), "utf-8")
    program = dspy.Predict("text -> label")
    program.load(tmp_path / "state.json")
    assert program.demos == [{"text": text, "label": word} for text, word in source.demonstrations]
    system, *turns = dspy.ChatAdapter().format(program.signature, program.demos, {"text": INPUT})
    assert SYSTEM in system["content"]
    assert len(turns) == 2 * len(source.demonstrations) + 1
    assert f"[[ ## text ## ]]\n{INPUT}\n" in turns[-1]["content"]


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
