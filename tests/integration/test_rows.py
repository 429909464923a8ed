"""The answers of an evaluation or a prediction, as its worker keeps them and its owner reads them."""

from collections.abc import Sequence

import pytest

from app.database import Database
from app.lifecycle import endings, rows
from app.lifecycle.claims import Claim
from app.predictions.stored import PredictionOutcome
from lens_engine.predicting.rows import Prediction
from tests.integration.conftest import Selections, run_sql

ANSWERS = (
    Prediction(label="positive", probabilities=(0.1 + 0.2, 5e-324)),
    Prediction(error="the text is blank"),
    Prediction(label="negative", probabilities=(1 / 3, 2 / 3), is_cut=True),
)


@pytest.fixture
def claim(selections: Selections) -> Claim:
    """Of a prediction of two texts."""
    _, job_id = selections.asked("prediction")
    return selections.claim(job_id)


def keep(database: Database, claim: Claim, start: int, answers: Sequence[Prediction]) -> bool:
    with database.session_scope() as session:
        return rows.keep_predictions(session, claim, start, answers)


def kept(database: Database, claim: Claim) -> list[Prediction]:
    with database.session_scope() as session:
        return rows.read_predictions(session, claim.job_id)


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
        assert endings.finish(session, claim, PredictionOutcome((), None))
    assert not keep(database, claim, 0, ANSWERS)
    assert kept(database, claim) == []


def test_output_is_cut_off_when_its_prediction_is_deleted(
    database: Database, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_ROWS_A_PAGE", 1)
    assert keep(database, claim, 0, ANSWERS[:2])
    dataset_id = run_sql(database, "SELECT dataset_id FROM selections WHERE id = :id", id=claim.job_id)
    reading = rows.read_answered(database, dataset_id, claim.job_id)
    row, answer = next(reading)
    assert (row.text, answer) == ("a warm film", ANSWERS[0])

    run_sql(database, "DELETE FROM selections WHERE id = :id", id=claim.job_id)

    with pytest.raises(LookupError, match=claim.job_id):
        next(reading)
