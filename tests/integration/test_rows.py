"""The answers of an evaluation or a prediction, as its worker keeps them and its owner reads them."""

from collections.abc import Sequence

import pytest

from app.kinds.prediction_schemas import PredictionOutcome
from app.lifecycle import endings
from app.lifecycle.claims import Claim
from app.lifecycle.kept_answers import keep_predictions
from app.store import rows
from app.store.database import Database
from lens_engine.evaluation.rows import Prediction
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import make_bag_of_words, make_result

ANSWERS = (
    Prediction(label="positive", probabilities=(0.75, 2.0**-149)),
    Prediction(error="the text is blank"),
    Prediction(label="negative", probabilities=(0.375, 0.625), is_cut=True),
)


@pytest.fixture
def claim(selections: Selections) -> Claim:
    """Of a prediction of two texts."""
    _, job_id = selections.asked("prediction")
    return selections.claim(job_id)


def keep(database: Database, claim: Claim, start: int, answers: Sequence[Prediction]) -> bool:
    with database.session_scope() as session:
        return keep_predictions(session, claim, start, answers)


def kept(database: Database, claim: Claim) -> list[Prediction]:
    with database.session_scope() as session:
        return rows.read_predictions(session, claim.job_id, 0, 100)


def test_answers_are_read_as_they_were_kept(database: Database, claim: Claim) -> None:
    assert keep(database, claim, 0, ANSWERS[:2])
    assert keep(database, claim, 2, ANSWERS[2:])
    assert kept(database, claim) == list(ANSWERS)


def test_repetition_after_a_lost_confirmation_changes_nothing(database: Database, claim: Claim) -> None:
    for _ in range(2):
        assert keep(database, claim, 0, ANSWERS)
    assert kept(database, claim) == list(ANSWERS)


def test_holder_of_an_earlier_attempt_keeps_nothing(selections: Selections, database: Database, claim: Claim) -> None:
    assert keep(database, claim, 0, ANSWERS[:1])
    with database.session_scope() as session:
        assert endings.requeue(session, claim)
    assert not keep(database, claim, 1, ANSWERS[1:])
    second = selections.claim(claim.job_id)
    assert not keep(database, claim, 1, ANSWERS[1:])
    assert kept(database, second) == [ANSWERS[0]]

    assert keep(database, second, 1, ANSWERS[1:])
    assert kept(database, second) == list(ANSWERS)


def test_nothing_is_kept_after_the_end(database: Database, claim: Claim) -> None:
    with database.session_scope() as session:
        assert endings.finish(session, claim, PredictionOutcome("", None))
    assert not keep(database, claim, 0, ANSWERS)
    assert kept(database, claim) == []


def test_output_is_cut_off_when_its_prediction_is_deleted(
    database: Database, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_ROWS_A_PAGE", 1)
    assert keep(database, claim, 0, ANSWERS[:2])
    dataset_id = run_sql(database, "SELECT dataset_id FROM jobs WHERE id = :id", id=claim.job_id)
    reading = rows.read_answered(database, dataset_id, claim.job_id)
    row, answer = next(reading)
    assert (row.text, answer) == ("a warm film", ANSWERS[0])

    run_sql(database, "DELETE FROM jobs WHERE id = :id", id=claim.job_id)

    with pytest.raises(LookupError, match=claim.job_id):
        next(reading)


@pytest.mark.parametrize("page_bytes", [1, 30, 10**6])
def test_pages_of_an_output_are_cut_by_bytes(
    selections: Selections, database: Database, monkeypatch: pytest.MonkeyPatch, page_bytes: int
) -> None:
    selection_id = selections.succeeded(make_result(classifier=make_bag_of_words()))
    texts = [f"text {number}" for number in range(10)]
    made = selections.client.post(f"/selections/{selection_id}/predictions", json={"texts": texts}).json()
    claim = selections.claim(made["id"])
    answers = [Prediction(label=str(number), probabilities=(0.5, 0.5)) for number in range(10)]
    assert keep(database, claim, 0, answers)
    monkeypatch.setattr(rows, "_PAGE_BYTES", page_bytes)
    with database.session_scope() as session:
        page = rows._read_page(session, made["dataset_id"], claim.job_id, 0)
    assert len(page) == {1: 1, 30: 3, 10**6: 10}[page_bytes]  # 14 bytes a row

    found = list(rows.read_answered(database, made["dataset_id"], claim.job_id))

    assert [(row.text, answer) for row, answer in found] == list(zip(texts, answers, strict=True))


def test_large_rows_are_inserted_by_several_statements() -> None:
    found = list(rows.cut_rows([3 * 2**20, 2 * 2**20, 1, 1, 5 * 2**20, 1], lambda size: size))
    assert [len(piece) for piece in found] == [2, 3, 1]
