"""Chat APIs that refuse a form of asking, or some texts for their content, over real HTTP."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from starlette.responses import JSONResponse, Response

from lens_engine import SelectionResult, select_support_examples
from lens_engine.config import SelectionConfig
from lens_engine.errors import EndpointError
from lens_engine.evaluation.batches import NO_ANSWER, Answers, predict_rows
from lens_engine.files import TextRow
from lens_engine.metering.progress import SilentListener
from lens_engine.model.limits import REFUSED, find_rows
from lens_engine.model.servers.address import AnswerKind, Endpoint
from lens_engine.model.servers.scorer import EndpointScorer, open_endpoint
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.rows.problem import Problem
from lens_engine.run.state import MemoryCheckpointStore
from lens_engine.types import Example, StopReason
from tests.endpoints.chat_double import DATED, MODEL, WORDS, ChatDouble
from tests.endpoints.serving import serving
from tests.slow.lens_engine.model.servers.test_chat_server import TASK, TEXTS, asking, fit, score

CONFIG = SelectionConfig.model_validate(
    {"num_demonstrations": 2, "rows": {"search": 0, "judging": 40}, "search": {"sets": 4, "forms": ["fixed"]}}
)


def opening(double: ChatDouble, answers: AnswerKind = "probabilities") -> closing[EndpointScorer]:
    endpoint = Endpoint("openai-chat", f"{double.url}/v1", MODEL, answers=answers)
    return closing(open_endpoint(endpoint, answer_bytes=1 << 26))


def say(status: int, message: str, **more: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, **more}}, status)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Unsupported parameter: 'logprobs' is not supported", r'status 400; .*answers="sampled".*docs/servers.md'),
        ("'max_tokens' is too large: 1. The context length is 1", r"status 400 \(it said: .*'max_tokens' is too large"),
        ("Unsupported parameter: 'max_tokens' is not supported", "status 400; .*max_completion_tokens = 24"),
        ("'temperature' does not support 0 with this model", 'status 400; .*{"temperature": null}'),
        ("top_logprobs must be between 0 and 5", "status 400; .*extra = { top_logprobs = 5 }"),
        ("System role not supported", "status 400; it takes no system message"),
    ],
)
def test_form_that_is_refused_ends_with_what_helps(message: str, said: str) -> None:
    double = ChatDouble(refuse=lambda _: say(400, message))
    with pytest.raises(EndpointError, match=said), asking(double):
        pass
    assert len(double.bodies) < 20  # none is asked again


def test_fault_of_a_chat_template_is_not_asked_again() -> None:
    double = ChatDouble(refuse=lambda _: say(500, "Jinja Exception: Conversation roles must alternate user/assistant"))
    with pytest.raises(EndpointError, match="it takes no system message"), asking(double):
        pass
    assert len(double.bodies) < 20


def end_as(reason: str, content: str = "") -> Callable[[], Response]:
    choice = {"message": {"role": "assistant", "content": content}, "logprobs": None, "finish_reason": reason}
    return lambda: JSONResponse({"model": DATED, "choices": [choice]})


REFUSALS: dict[str, Callable[[], Response]] = {
    "code": lambda: say(400, "The prompt triggered our policy", code="content_filter"),
    "moderation": lambda: say(403, "Your chosen model requires moderation and your input was flagged"),
    "inspection": lambda: say(400, "Input data may contain inappropriate content.", code="data_inspection_failed"),
    "in place of an answer": lambda: say(200, "filtered", code="content_filter"),
    "end": end_as("content_filter"),
    "by the model": lambda: JSONResponse({"model": "m", "choices": [{"message": {"refusal": "No.", "content": None}}]}),
}


@dataclass
class Filter:
    """Refuses what has a word in its last message."""

    word: str
    answer: Callable[[], Response] = REFUSALS["code"]
    asked: list[str] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Response | None:
        self.asked.append(body["messages"][-1]["content"])
        return self.answer() if self.word in self.asked[-1] else None


@pytest.mark.parametrize("answers", ["probabilities", "sampled"])
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_refused_text_has_no_answer_and_is_not_asked_again(refusal: Callable[[], Response], answers: Any) -> None:
    def ask() -> Any:
        with opening(double, answers) as scorer:
            return score(scorer, fit(scorer))

    with serving(ChatDouble()) as double:
        double.refuse = first = Filter("message 3", refusal)
        found = ask()
        double.refuse = again = Filter("no such text")
        assert np.array_equal(ask(), found)
    assert find_rows(found).tolist() == find_rows(found, REFUSED).tolist() == [text == TEXTS[3] for text in TEXTS]
    assert sum("message" in text for text in first.asked) == len(TEXTS)
    assert not any("message" in text for text in again.asked)


def test_refusals_at_connection_are_left_out_up_to_a_tenth() -> None:
    with asking(ChatDouble()) as usual:
        words, identity = fit(usual).label_spans, usual.identity
    number = iter(range(10_000))
    double = ChatDouble(refuse=lambda _: REFUSALS["code"]() if next(number) % 11 == 4 else None)
    with asking(double) as scorer:
        assert (fit(scorer).label_spans, scorer.identity) == (words, identity)
    double.refuse = Filter("Is fire cold?")
    with pytest.raises(EndpointError, match=r"refuses 3 of 24 requests .*\(check: content\)"), asking(double):
        pass


EXAMPLES = [Example(row, f"text {row} on {WORDS[row % 4].lower()}", WORDS[row % 4].lower()) for row in range(160)]


def select(double: ChatDouble, answers: AnswerKind = "probabilities", **given: Any) -> SelectionResult:
    problem = Problem(TASK, EXAMPLES[24:], EXAMPLES[:24])
    with opening(double, answers) as scorer:
        return select_support_examples(problem, scorer, CONFIG, progress=False, **given)


class Stop(SilentListener):
    """Asks for a stop after `looks` looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def stop_requested(self) -> StopReason | None:
        self.looks -= 1
        return StopReason.CANCELLED if self.looks < 0 else None


@dataclass
class Some:
    """Refuses the texts whose number is a multiple of `by`."""

    by: int
    answer: Callable[[], Response] = REFUSALS["code"]

    def __call__(self, body: dict[str, Any]) -> Response | None:
        words = body["messages"][-1]["content"].split()
        return self.answer() if words[0] == "text" and int(words[1]) % self.by == 0 else None


def test_run_counts_refused_requests_as_wrong_and_says_how_many() -> None:
    with serving(ChatDouble(refuse=Some(16))) as double:
        result = select(double)
        assert select(double).digest == result.digest
        store = MemoryCheckpointStore()
        assert select(double, checkpoints=store, listener=Stop(3)).stop_reason is StopReason.CANCELLED
        assert select(double, checkpoints=store).digest == result.digest

        (warning,) = [one for one in result.warnings if "refused for the content" in one]
        count = int(warning.split()[0])
        assert 0 < count <= 0.1 * result.cost.pairs
        assert f"of {result.cost.pairs:,};" in warning

        answers = result.answers
        refused = [place for place, row in enumerate(answers.rows) if row % 16 == 0]  # of the first label
        assert refused
        for given in filter(None, answers.support_examples):  # as the model answers, and after label biases
            assert all(given[place] != answers.gold[place] for place in refused)

        rows = [TextRow(f"text {row} on billing") for row in (12, 16)]
        with opening(double) as scorer:
            good, bad = predictions = predict_rows(classifier_of_prompt(result), rows, scorer)
        assert (good.label, bad.label, bad.error) == ("billing", None, NO_ANSWER)
        judged = Answers(TASK.labels, [Example(row, "x", "billing") for row in (12, 16)])
        judged.extend(predictions)
        assert judged.hits.tolist() == [True, False]
        assert judged.figures().hits.tolist() == [True, False]


def test_run_ends_if_more_than_a_tenth_is_refused() -> None:
    with serving(ChatDouble(refuse=Some(6))) as double, pytest.raises(EndpointError, match="more than a tenth"):
        select(double)


def test_run_says_how_many_thoughts_did_not_end() -> None:
    with serving(ChatDouble(refuse=Some(6, end_as("length", "<think>Well,")))) as double:
        warnings = select(double, answers="sampled").warnings
    (said,) = [one for one in warnings if "ended while the model was thinking" in one]
    unfinished, judged = (int(word) for word in said.split() if word.isdigit())
    assert 0 < unfinished < judged
    assert "raise max_completion_tokens" in said
