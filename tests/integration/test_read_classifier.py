"""GET /selections/{id}/classifier: what production loads, number for number."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from app.database import Database
from app.lifecycle import claims
from app.lifecycle.claims import Claim
from app.models import Report, StoredClassifier
from lens_engine.classifier.classifier import Classifier
from lens_engine.result import SelectionResult
from lens_engine.testing import TableScorer
from lens_engine.types import StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import make_classifier, make_result, problem_of


@pytest.fixture
def finish(database: Database) -> Callable[[Claim, SelectionResult], str]:
    def end(claim: Claim, result: SelectionResult) -> str:
        with database.session_scope() as session:
            assert claims.finish(session, claim, result)
        return claim.selection_id

    return end


def test_saved_answer_loads_as_the_classifier_that_was_made(
    client: TestClient, selections: Selections, tmp_path: Path
) -> None:
    response = client.get(f"/selections/{selections.succeeded()}/classifier")
    path = tmp_path / "classifier.json"
    path.write_bytes(response.content)
    loaded, made = Classifier.load(path), make_classifier()
    assert loaded == made
    assert loaded.model_dump_json() == made.model_dump_json()
    assert loaded.labels == ("positive", "negative")


def test_answer_has_the_content_of_a_saved_file(client: TestClient, selections: Selections, tmp_path: Path) -> None:
    response = client.get(f"/selections/{selections.succeeded()}/classifier")
    made, path = make_classifier(), tmp_path / "classifier.json"
    made.save(path)
    assert response.headers["content-type"] == "application/json"
    assert Classifier.model_validate_json(path.read_bytes()).model_dump_json().encode() == response.content


def test_loaded_classifier_predicts_as_the_one_that_was_made(
    client: TestClient, selections: Selections, finish: Callable[[Claim, SelectionResult], str], tmp_path: Path
) -> None:
    made = make_classifier(size=1)
    selection_id = finish(selections.running(), make_result(classifier=made))
    path = tmp_path / "classifier.json"
    path.write_bytes(client.get(f"/selections/{selection_id}/classifier").content)
    texts = ["a warm film", "loud and empty"]
    found, expected = Classifier.load(path).predict(texts, TableScorer()), made.predict(texts, TableScorer())
    assert found.labels == expected.labels
    assert np.array_equal(found.probabilities, expected.probabilities)


def test_classifier_of_the_result_is_stored_once_and_shown_with_it(
    client: TestClient, selections: Selections, database: Database
) -> None:
    selection_id = selections.succeeded()
    made = make_classifier().model_dump(mode="json")
    assert client.get(f"/selections/{selection_id}/classifier").json() == made
    assert client.get(f"/selections/{selection_id}/result").json()["classifier"] == made
    with database.session_scope() as session:
        stored = session.scalar(select(Report.result).where(Report.selection_id == selection_id))
    assert stored is not None
    assert "classifier" not in stored
    events = client.get(f"/selections/{selection_id}/events").json()["items"]
    assert [event["data"]["size"] for event in events if event["type"] == "classifier"] == [2]


def test_classifier_never_changes_and_a_known_one_is_304(client: TestClient, selections: Selections) -> None:
    path = f"/selections/{selections.succeeded()}/classifier"
    response = client.get(path)
    assert response.headers["cache-control"] == "private, no-cache"
    again = client.get(path, headers={"If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", response.headers["etag"])
    assert again.headers["cache-control"] == response.headers["cache-control"]
    assert client.get(path, headers={"If-None-Match": '"other"'}).content == response.content


def test_cancelled_run_keeps_its_classifier(
    client: TestClient, selections: Selections, finish: Callable[[Claim, SelectionResult], str]
) -> None:
    selection_id = finish(selections.cancelling(), make_result(StopReason.CANCELLED))
    assert selections.status_of(selection_id) == "cancelled"
    response = client.get(f"/selections/{selection_id}/classifier")
    assert response.json() == make_classifier().model_dump(mode="json")


def test_result_without_classifier_says_how_to_get_one(
    client: TestClient, selections: Selections, finish: Callable[[Claim, SelectionResult], str]
) -> None:
    selection_id = finish(selections.cancelling(), make_result(StopReason.CANCELLED, has_classifier=False))
    body = problem_of(client.get(f"/selections/{selection_id}/classifier"), 409, "no-classifier")
    dataset_id = client.get(f"/selections/{selection_id}").json()["dataset_id"]
    assert f"submit a new selection with dataset_id {dataset_id}" in body["detail"]
    events = client.get(f"/selections/{selection_id}/events").json()["items"]
    assert {event["type"] for event in events} == {"status"}


def test_unfinished_selection_says_when_to_ask_again(
    make_client: Callable[..., TestClient], selections: Selections
) -> None:
    response = make_client(retry_after_seconds=7).get(f"/selections/{selections.queued()}/classifier")
    problem_of(response, 409, "not-finished")
    assert response.headers["retry-after"] == "7"


def test_lost_claim_stores_no_classifier(selections: Selections, database: Database) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        assert not claims.finish(session, Claim(claim.selection_id, claim.attempt + 1), make_result())
        assert session.scalar(select(func.count()).select_from(StoredClassifier)) == 0
    assert selections.status_of(claim.selection_id) == "running"
