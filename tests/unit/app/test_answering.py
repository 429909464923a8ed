"""Texts that are asked at once: what is computed together, what makes room, and what is refused."""

import threading
from collections.abc import Callable, Iterator

import pytest
from uvicorn import Config

from app.answers.answering import MOST_LONG, MOST_SHORT_TEXTS, SHORT_TEXTS, Answering, AskedTexts, Waiting
from app.answers.models import Models
from app.answers.remote import Subject
from app.errors import AppError, Conflict, Unavailable
from lens_engine.errors import NonFiniteScore
from lens_engine.evaluation.batches import BATCH_ROWS, predict_rows
from lens_engine.files import TextRow
from lens_engine.testing import TableScorer
from tests.subjects import Tables, ask, make_classifier
from worker.answering import Server

TEXTS = [f"text {number}" for number in range(600)]


class Gate:
    """Holds the first call of a scorer, so that requests wait meanwhile."""

    def __init__(self) -> None:
        self.scorer = TableScorer(before_call=self._hold)
        self.is_reached, self.may_go_on = threading.Event(), threading.Event()

    def _hold(self, number: int) -> None:
        self.is_reached.set()
        assert number > 0 or self.may_go_on.wait(30)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def serve() -> Iterator[Callable[..., Answering]]:
    made = list[Answering]()

    def start(source: Tables, most_bytes: int | None = None) -> Answering:
        made.append(Answering(Models(source, most_bytes)))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_short_requests_are_one_batch_and_a_long_one_is_its_own(gate: Gate, serve: Callable[..., Answering]) -> None:
    answering = serve(Tables({"table": 0}, table=gate.scorer))
    one, other = (Subject.of(make_classifier(gate.scorer, mark)) for mark in "ab")
    first = ask(answering, one, TEXTS[:1])
    assert gate.is_reached.wait(30)
    asked = [(one, TEXTS[:256]), (one, TEXTS[:3]), (other, TEXTS[3:5]), (one, TEXTS[5:15]), (one, TEXTS[20:53])]
    waiting = [(subject, texts, answering.ask(subject, texts)) for subject, texts in asked]
    gone = answering.ask(one, ["of nobody"])
    assert gone.cancel()
    gate.may_go_on.set()

    for subject, texts, answer in [(one, TEXTS[:1], first), *waiting]:
        rows = [TextRow(text) for text in texts]
        assert answer.result(30) == predict_rows(subject.classifier, rows, TableScorer())
    assert [queries for _, queries, _ in gate.scorer.calls] == [1, 3 + 10, 2, BATCH_ROWS, 33]


def test_a_request_that_fails_costs_no_other_of_its_batch(serve: Callable[..., Answering]) -> None:
    def log_prob(_prefix: tuple[str, ...], query: str, span: str) -> float:
        return float("nan") if "poison" in query else -float(len(query + span))

    scorer = TableScorer(log_prob)
    answering = serve(Tables({"table": 0}, table=scorer))
    subject = Subject.of(make_classifier(scorer))
    good, bad = (ask(answering, subject, [text]) for text in ("fine", "poison"))

    assert good.result(30)[0].label == "good"
    with pytest.raises(Conflict) as refused:
        bad.result(30)
    assert (refused.value.code, refused.value.status) == (NonFiniteScore.code, 409)


def test_process_ends_after_three_batches_in_a_row_that_end_by_faults_of_its_own() -> None:
    scorer = TableScorer(lambda _prefix, query, _span: -1.0 / ("broken" not in query))
    server = Server(Config("unused"), drain_seconds=0.0)
    answering = Answering(Models(Tables({"table": 0}, table=scorer), None), note_fault=server.note_fault)
    for text in ("broken", "broken", "fine", "broken", "broken"):
        assert ask(answering, Subject.of(make_classifier(scorer)), [text]).exception(30) is None or text == "broken"
    assert not server.should_exit
    assert ask(answering, Subject.of(make_classifier(scorer)), ["broken"]).exception(30)
    assert (server.should_exit, server.has_failed) == (True, True)
    answering.close()


def test_what_waits_is_bounded_and_long_requests_take_no_room_of_short_ones() -> None:
    waiting, subject = Waiting(), Subject.of(make_classifier(TableScorer()))
    longs = [AskedTexts(subject, TEXTS[:BATCH_ROWS]) for _ in range(MOST_LONG)]
    shorts = [AskedTexts(subject, TEXTS[:SHORT_TEXTS]) for _ in range(MOST_SHORT_TEXTS // SHORT_TEXTS)]
    for one in (*longs, *shorts):
        waiting.add(one)
    for texts in (TEXTS[:1], TEXTS[:BATCH_ROWS]):
        with pytest.raises(Unavailable):
            waiting.add(AskedTexts(subject, texts))
    shorts[0].answer.cancel()
    waiting.add(AskedTexts(subject, TEXTS[:1]))


def test_models_asked_longest_ago_make_room_for_all_but_one_that_never_fits(serve: Callable[..., Answering]) -> None:
    source = Tables({"one": 40 << 20, "two": 40 << 20, "three": 40 << 20, "huge": 101 << 20})
    answering = serve(source, 100 << 20)
    subjects = {name: Subject.of(make_classifier(scorer)) for name, scorer in source.scorers.items()}
    for name in ("one", "two", "one", "three", "one", "two"):
        assert ask(answering, subjects[name], ["text"]).result(30)

    assert source.opened == ["one", "two", "three", "two"]
    assert source.freed == 2
    with pytest.raises(AppError, match=r"101 MiB, .* holds 100 MiB; raise LENS_ANSWERS_MEMORY_MIB") as refused:
        ask(answering, subjects["huge"], ["text"])
    assert (refused.value.code, refused.value.status) == ("out-of-memory", 409)


def test_a_model_that_cannot_be_opened_or_is_another_is_refused(serve: Callable[..., Answering]) -> None:
    answering = serve(Tables({"table": 0}))
    classifier = make_classifier(TableScorer())
    for changes, code in (({"model": "gone"}, "unknown-model"), ({"revision": "1" * 64}, "model-mismatch")):
        assert classifier.model is not None
        other = classifier.model_copy(update={"model": classifier.model.model_copy(update=changes)})
        with pytest.raises(AppError) as refused:
            ask(answering, Subject.of(other), ["text"]).result(30)
        assert (refused.value.code, refused.value.status) == (code, 409)
