"""DSPy and the Language Model Evaluation Harness load what is written for them, and ask a model what they should."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lens_engine.exports import FORMATS, Source
from lens_engine.task.label_end import EndedTask
from lens_engine.task.template import Task
from tests.unit.lens_engine.test_exports import AWKWARD, INPUT, INSTRUCTED, TASKS, TURNS, make_source, written

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


@TASKS
@pytest.mark.parametrize("turns", [TURNS, []], ids=["demonstrations", "none"])
def test_lm_eval_asks_the_prompt_that_was_evaluated(turns: list[tuple[str, str]], task: Task) -> None:
    from datasets import Dataset
    from lm_eval.api.task import ConfigurableTask

    source = make_source(turns, task)
    config: dict[str, Any] = yaml.safe_load(written(source, "lm-eval"))
    documents = [{"text": INPUT, "label": "0"}, {"text": "lines\nand\r\nmore\n\n", "label": "{good}"}]
    data = {"test": Dataset.from_list(documents)}
    asking = ConfigurableTask(config={**config, "test_split": "test", "custom_dataset": lambda **_: data})
    asking.set_fewshot_seed(1)
    for document in documents:
        prompt = asking.fewshot_context(document, num_fewshot=config["num_fewshot"])
        assert prompt == source.answer.prompt + task.render_query(document["text"])
        asked = [request.args for request in asking.construct_requests(document, prompt)]
        assert asked == [(prompt, span) for span in task.label_spans]


@pytest.mark.parametrize(
    ("tail", "end"), [(".", "."), (" {{% one", " {%"), ("", "\n")], ids=["mark", "tag", "separator"]
)
def test_lm_eval_asks_label_words_with_what_ends_them(tail: str, end: str) -> None:
    from datasets import Dataset
    from lm_eval.api.task import ConfigurableTask

    words = {"a": "refund", "b": "refund status"}
    task = EndedTask(Task("{text} Topic: {label}" + tail, words), end)
    source = make_source([("late", "refund"), ("where", "refund status")], task)
    config: dict[str, Any] = yaml.safe_load(written(source, "lm-eval"))
    documents = [{"text": "x", "label": word} for word in words.values()]
    data = {"test": Dataset.from_list(documents)}
    asking = ConfigurableTask(config={**config, "test_split": "test", "custom_dataset": lambda **_: data})
    for place, document in enumerate(documents):
        prompt = asking.fewshot_context(document, num_fewshot=config["num_fewshot"])
        assert prompt == source.answer.prompt + task.render_query(document["text"])
        requests = asking.construct_requests(document, prompt)
        assert [request.args for request in requests] == [(prompt, span) for span in task.label_spans]
        assert asking.process_results(document, [(-float(other != place), False) for other in range(2)])["acc"] == 1.0
