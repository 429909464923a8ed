"""The code of `python` classifies as the classifier does, over HTTP and without Lens."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine.classifier.bag_of_words import WordRegression
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import (
    ArgmaxHead,
    BagOfWordsHead,
    LinearHead,
    PriorHead,
    PromptsHead,
    StatesAndWordsHead,
    StatesHead,
)
from lens_engine.classifier.prompt import ModelRecord, Prompt
from lens_engine.errors import InvalidConfig
from lens_engine.exports import export_support_examples, write_classifier_export
from lens_engine.result.of_prompt import classifier_of_prompt
from lens_engine.task.label_end import EndedTask
from lens_engine.task.record import TaskRecord
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer
from lens_engine.types import Example
from tests.unit.lens_cli.results import make_answer, make_result
from tests.unit.lens_engine.test_exports import AWKWARD, TASK, TURNS, make_source
from tests.unit.lens_engine.toy_endpoint import answer_completions, log_prob_of_span, serving

TEXTS = [
    *AWKWARD,
    "`${process.exit(1)}`",
    "</script><!--",
    "\\u2028 \\",
    "\ufeffBOM \U0001f468\u200d\U0001f469",
    "__proto__",
]
FLAWED = Task(
    "`${{{text}}}` */ \"'\\ </script>\u2028 {label}\n", {"__proto__": "0", "1": "it's", "</script>": "${0}"}, "\r\n"
)
INSTRUCTED = Task(TASK.template, TASK.verbalizer, instruction="`${{x}}`\r\n\u2028</script>'\"\\ Which?")
ENDED = EndedTask(Task("{text} Topic: {label}.", {"a": "refund", "b": "refund status", "c": "parcel"}), ".")
NUMBERS = np.random.default_rng(5)

_ASK_PYTHON = """
import json, runpy, sys
classify = runpy.run_path(sys.argv[1])["classify"]
found = [classify(text, base_url=sys.argv[2], model="toy", api_key="a-key") for text in json.load(sys.stdin)]
print(json.dumps(found))
"""


def run_code(code: bytes, folder: Path, url: str, texts: list[str]) -> Any:
    """What the code answers for each text, in a process without Lens."""
    done = start_code(code, folder, url, texts)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start_code(code: bytes, folder: Path, url: str, texts: list[str]) -> "subprocess.CompletedProcess[str]":
    path = folder / "classifier.py"
    path.write_bytes(code)
    command = [sys.executable, "-I", "-c", _ASK_PYTHON, str(path), url]
    return subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=False)


def make_classifier(task: Task, head: Any, prompts: int) -> Classifier:
    words = list(task.verbalizer.words)
    turns = [Example(place, text, words[place % 3]) for place, (text, _) in enumerate(TURNS)]
    rendered = [task.render_prefix(turns[place::prompts]) for place in range(prompts)]
    return Classifier(
        task=TaskRecord.of(task),
        prompts=tuple(Prompt(rows=tuple(range(len(one))), demonstrations=one) for one in rendered),
        head=head,
        fit_rows=9,
        model=ModelRecord(model='a "model" */ \u2028', revision="0" * 64, dtype="float32", device="cpu"),
        tokens_per_input=1.0,
    )


def draw(*shape: int) -> Any:
    return NUMBERS.normal(size=shape).tolist()


HEADS: list[tuple[PromptsHead, int]] = [
    (ArgmaxHead(), 1),
    (ArgmaxHead(temperature=2.5), 2),
    (PriorHead(biases=draw(2, 3), temperature=0.7), 2),
    (LinearHead(means=draw(6), scales=[2.0] * 6, weights=draw(3, 6), intercepts=draw(3), inverse_l2=1.0), 2),
]


@pytest.mark.parametrize(
    "task", [TASK, FLAWED, ENDED, INSTRUCTED], ids=["plain", "flawed", "label words with ends", "instructed"]
)
@pytest.mark.parametrize(("head", "prompts"), HEADS, ids=lambda one: getattr(one, "kind", one))
def test_code_gives_the_probabilities_of_the_classifier(
    task: Task, head: PromptsHead, prompts: int, tmp_path: Path
) -> None:
    classifier = make_classifier(task, head, prompts)
    with serving() as endpoint:
        found = run_code(write_classifier_export(classifier), tmp_path, endpoint.url, TEXTS)
    expected = np.exp(classifier.class_log_probs(TEXTS, TableScorer(log_prob_of_span)))
    answered = np.array([[one["probabilities"][label] for label in task.labels] for one in found])
    np.testing.assert_allclose(answered, expected, rtol=0, atol=1e-9)
    assert [one["label"] for one in found] == [task.labels[index] for index in expected.argmax(axis=1)]
    paths, keys, bodies = zip(*endpoint.asked, strict=True)
    assert (set(paths), set(keys), len(bodies)) == ({"/v1/completions"}, {"Bearer a-key"}, prompts * len(TEXTS))
    assert {body["model"] for body in bodies} == {"toy"}


@pytest.mark.parametrize("use", ["prompt", "probabilities"])
@pytest.mark.parametrize("turns", [TURNS, []], ids=["demonstrations", "none"])
def test_support_examples_are_the_classifier_of_their_prompt(use: Any, turns: Any) -> None:
    source = make_source(turns)
    biases = tuple({"label": label, "bias": bias} for label, bias in zip(TASK.labels, (0.5, -1.25, 0.75), strict=True))
    examples = source.answer.examples
    answer = make_answer(use, examples=examples, prompt=source.answer.prompt, label_biases=biases)
    result = make_result(task=source.task, support_examples=(answer,))
    code = export_support_examples(result, "python")
    assert code == write_classifier_export(classifier_of_prompt(result))
    assert (b"0.75" in code) == (use == "probabilities")


def test_code_is_ascii_and_no_end_of_a_page() -> None:
    code = write_classifier_export(make_classifier(FLAWED, ArgmaxHead(), 2)).decode()
    assert code.isascii()


def without_echo(body: dict[str, Any]) -> dict[str, Any]:
    """As llama.cpp: the generated token alone, whatever `echo` says."""
    answer = answer_completions(body)
    for choice in answer["choices"]:
        choice["logprobs"] = {name: values[-1:] for name, values in choice["logprobs"].items()}
    return answer


def without_log_probs(body: dict[str, Any]) -> dict[str, Any]:
    answer = answer_completions(body)
    return {**answer, "choices": [{**choice, "logprobs": None} for choice in answer["choices"]]}


def without_probabilities_of_the_prompt(body: dict[str, Any]) -> dict[str, Any]:
    answer = answer_completions(body)
    for choice in answer["choices"]:
        log_probs = choice["logprobs"]["token_logprobs"]
        log_probs[:-1] = [None] * (len(log_probs) - 1)
    return answer


def with_two_tokens(body: dict[str, Any]) -> dict[str, Any]:
    return {**answer_completions(body), "usage": {"completion_tokens": 2 * len(body["prompt"])}}


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (without_echo, 200, "no log-probabilities of the prompt"),
        (without_probabilities_of_the_prompt, 200, "no log-probabilities of the prompt"),
        (without_log_probs, 200, "one token with log-probabilities for each prompt"),
        (lambda _: {}, 200, "one token with log-probabilities for each prompt"),
        (with_two_tokens, 200, "one token with log-probabilities for each prompt"),
        (lambda _: {"error": "no such model"}, 404, 'the server answered 404: {"error": "no such model"}'),
    ],
)
def test_server_without_log_probabilities_of_prompts_is_an_error(
    answer: Any, status: int, message: str, tmp_path: Path
) -> None:
    code = write_classifier_export(make_classifier(TASK, ArgmaxHead(), 1))
    with serving(answer, status) as endpoint:
        done = start_code(code, tmp_path, endpoint.url, ["a text"])
    assert done.returncode != 0
    assert message in done.stderr


def test_label_word_that_joins_the_text_is_an_error(tmp_path: Path) -> None:
    task = Task("{text}{label}", {"zero": "0", "good": "good", "other": "other"})
    with serving() as endpoint:
        code = write_classifier_export(make_classifier(task, ArgmaxHead(), 1))
        done = start_code(code, tmp_path, endpoint.url, ["a text"])
    assert "joins the label word with the text before it" in done.stderr


WORDS = WordRegression(terms=("a",), idf=(1.0,), weights=((0.0,),) * 3, intercepts=(0.0,) * 3)
STATES = StatesHead(layer=1, pooling="last", weights=draw(3, 4), intercepts=draw(3), inverse_l2=1.0)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (STATES, "it needs the weights of its model"),
        (StatesAndWordsHead(states=STATES, bag_of_words=WORDS, words_weight=0.5), "it needs the weights of its model"),
        (BagOfWordsHead(bag_of_words=WORDS), "nothing to ask an endpoint"),
    ],
)
def test_classifier_of_states_or_words_needs_lens(head: Any, message: str) -> None:
    classifier = make_classifier(TASK, ArgmaxHead(), 1)
    without = {"prompts": (), "model": None} if head.kind == "bag_of_words" else {}
    with pytest.raises(InvalidConfig, match=f"{message}.*`lens classify` or Classifier.predict"):
        write_classifier_export(classifier.model_copy(update={"head": head, **without}))
