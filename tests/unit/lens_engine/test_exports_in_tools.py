"""DSPy and the Language Model Evaluation Harness load what is written for them, and ask a model what they should."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.lens_engine.test_exports import INPUT, TASK, TURNS, make_source, written

pytestmark = pytest.mark.slow  # seconds of imports


def load_dspy(turns: list[tuple[str, str]], folder: Path) -> list[dict[str, str]]:
    """The messages that DSPy makes of the state for the live input."""
    import dspy

    (folder / "state.json").write_text(written(make_source(turns), "dspy"), "utf-8")
    program = dspy.Predict("text -> label")
    program.load(folder / "state.json")
    assert program.demos == [{"text": text, "label": word} for text, word in turns]
    messages: list[dict[str, str]] = dspy.ChatAdapter().format(program.signature, program.demos, {"text": INPUT})
    return messages


@pytest.mark.parametrize("turns", [TURNS, []], ids=["demonstrations", "none"])
def test_dspy_asks_with_the_same_demonstrations(turns: list[tuple[str, str]], tmp_path: Path) -> None:
    system, *messages, live = load_dspy(turns, tmp_path)
    assert system["content"].endswith("Answer with one of these labels and nothing else: 0, {good}, it's 🎬.")
    shown = [(one["role"], one["content"]) for one in messages]
    expected = []
    for text, word in turns:
        expected += [
            ("user", f"[[ ## text ## ]]\n{text}".strip()),  # DSPy strips each message
            ("assistant", f"[[ ## label ## ]]\n{word}\n\n[[ ## completed ## ]]\n"),
        ]
    assert shown == expected
    assert live["content"].startswith(f"[[ ## text ## ]]\n{INPUT}\n\nRespond with the corresponding output fields")


@pytest.mark.parametrize("turns", [TURNS, []], ids=["demonstrations", "none"])
def test_lm_eval_asks_the_prompt_that_was_evaluated(turns: list[tuple[str, str]]) -> None:
    from datasets import Dataset
    from lm_eval.api.task import ConfigurableTask

    source = make_source(turns)
    config: dict[str, Any] = yaml.safe_load(written(source, "lm-eval"))
    documents = [{"text": INPUT, "label": "0"}, {"text": "lines\nand\r\nmore\n\n", "label": "{good}"}]
    data = {"test": Dataset.from_list(documents)}
    task = ConfigurableTask(config={**config, "test_split": "test", "custom_dataset": lambda **_: data})
    task.set_fewshot_seed(1)
    for document in documents:
        prompt = task.fewshot_context(document, num_fewshot=config["num_fewshot"])
        assert prompt == source.answer.prompt + TASK.render_query(document["text"])
        asked = [request.args for request in task.construct_requests(document, prompt)]
        assert asked == [(prompt, span) for span in TASK.label_spans]
