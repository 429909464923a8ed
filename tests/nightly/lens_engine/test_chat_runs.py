"""A small selection over a chat API: result, exports and classifier are of the turns that were evaluated."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine import Classifier, Problem, Task, select_support_examples
from lens_engine.config import SelectionConfig
from lens_engine.errors import EndpointError, InvalidConfig
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.scorer import EndpointScorer, open_endpoint
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.show.exports import export_support_examples
from lens_engine.types import Example
from tests.endpoints.chat_double import MODEL, WORDS, ChatDouble, listed
from tests.endpoints.serving import serving

TASK = Task("{text} Topic: {label}.", {word.lower(): word for word in WORDS})
CONFIG = SelectionConfig.model_validate(
    {
        "num_demonstrations": 4,
        "rows": {"judging": 40},
        "filtering": {"keep": 16, "rounds": 2, "initial_score_size": 4, "max_score_size": 8},
        "search": {
            "validation": 20,
            "sets": 4,
            "beam_width": 3,
            "children": 4,
            "iterations": 2,
            "first_permutations": 10,
            "forms": ["fixed"],
        },
        "classifier": {"kind": "auto"},
    }
)


def make_problem(rows: int = 200) -> Problem:
    rng = np.random.default_rng(0)
    examples = []
    for row in range(rows):
        said, label = WORDS[row % 4], WORDS[row % 4] if rng.random() < 0.8 else WORDS[int(rng.integers(4))]
        examples.append(Example(row, f"text {row} on {said.lower()} {{x}}", label.lower()))
    return Problem(TASK, examples[24:], examples[:24])


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path))


@pytest.fixture
def double() -> Iterator[ChatDouble]:
    with serving(ChatDouble()) as double:
        yield double


def connect(double: ChatDouble, **given: Any) -> EndpointScorer:
    return open_endpoint(Endpoint("openai-chat", f"{double.url}/v1", MODEL, **given), answer_bytes=1 << 26)


def select(scorer: EndpointScorer, **options: Any) -> SelectionResult:
    return select_support_examples(make_problem(), scorer, CONFIG.model_copy(update=options), progress=False)


def test_selection_classifier_and_exports_are_of_the_same_turns(double: ChatDouble, tmp_path: Path) -> None:
    scorer = connect(double)
    result = select(scorer)
    assert result.task.chat is not None
    assert result.classifier is not None
    assert result.answer.test is not None
    assert result.answer.test.accuracy > 0.5
    assert [one.name for one in result.tested] == ["bag_of_words", "label_probabilities"]
    assert f"The system message: {result.task.chat.system!r}" in result.summary()

    # The prompt as a classifier asks what the openai-chat export sends.
    asked = classifier_of_prompt(SelectionResult.model_validate_json(result.model_dump_json()))
    asked.save(tmp_path / "classifier.json")
    loaded = Classifier.load(tmp_path / "classifier.json")
    test = [one for one in make_problem().test or () if one.row in result.answers.rows]
    by_row = dict(zip(result.answers.rows, result.answers.support_examples[0] or (), strict=True))
    before = len(double.bodies)
    predicted = loaded.predict([one.text for one in test], scorer)
    assert len(double.bodies) == before  # every answer was on disk
    assert predicted.labels == tuple(loaded.labels[by_row[one.row] or 0] for one in test)
    loaded.predict(["a new text"], scorer)
    exported = json.loads(export_support_examples(result, "openai-chat"))["messages"]
    sent = json.loads(json.dumps(exported).replace("{text}", "a new text"))
    assert double.bodies[-1]["messages"] == sent
    scorer.close()


def test_labels_that_are_not_listed_are_counted(double: ChatDouble) -> None:
    scorer = connect(double)

    def drop(answer: dict[str, Any]) -> dict[str, Any]:
        if len(double.bodies) % 10 == 0:
            best = max(one["logprob"] for one in listed(answer))
            listed(answer)[:] = [one for one in listed(answer) if one["logprob"] == best or one["token"] not in WORDS]
        return answer

    double.fault = drop
    result = select(scorer)
    scorer.close()
    (found,) = [one for one in result.warnings if "upper bounds" in one]
    assert re.match("[1-9][0-9,]* of [1-9][0-9,]* values of labels are upper bounds", found)


def test_sampled_answers_search_without_filtering(double: ChatDouble) -> None:
    double.has_log_probs = False
    with pytest.raises(EndpointError, match='answers="sampled"'):
        connect(double)
    scorer = connect(double, answers="sampled")
    result = select(scorer)
    assert "logprobs" not in double.bodies[-1]
    assert result.answer.test is not None
    assert result.answer.test.accuracy > 0.5
    assert [one.name for one in result.tested] == ["bag_of_words"]
    assert [one.use for one in result.support_examples] == ["prompt"]
    assert result.answer.label_biases == ()
    assert all(one.info_score is None for one in result.examples)
    assert len({one.label for one in result.examples}) == len(WORDS)
    assert any(one.startswith("the model gives answers and no probabilities") for one in result.warnings)
    assert SelectionResult.model_validate_json(result.model_dump_json()).with_digest().digest == result.digest

    with pytest.raises(InvalidConfig, match="take the use prompt"):
        select(scorer, use="probabilities")
    assert classifier_of_prompt(result).predict(["on delivery"], scorer).labels == ("delivery",)
    scorer.close()
