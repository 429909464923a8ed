"""GET /selections/{id}/classifier: what production loads, number for number."""

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from lens_engine.classifier.classifier import Classifier, InputFormat
from lens_engine.types import StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import (
    make_bag_of_words,
    make_classifier,
    make_csv,
    make_pool,
    make_result,
    make_spec,
    make_states_classifier,
    problem_of,
)


def test_classifier_remembers_how_the_dataset_was_written(client: TestClient, selections: Selections) -> None:
    content = make_csv().replace(b"text,label", b"Review,Label", 1).replace(b",", b";")
    sent = client.post("/selections", files={"dataset": content}, data={"spec": json.dumps(make_spec())})
    assert sent.status_code == 202, sent.text
    selection_id = selections.finish(selections.claim(sent.json()["id"]), make_result())
    loaded = Classifier.model_validate(client.get(f"/selections/{selection_id}/classifier").json())
    assert loaded.input == InputFormat(text_column="Review", delimiter=";", encoding="utf-8")


def test_classifier_of_the_result_is_stored_once_and_shown_with_it(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    made = make_classifier().model_dump(mode="json")
    assert client.get(f"/selections/{selection_id}/classifier").json() == made
    assert client.get(f"/selections/{selection_id}/result").json()["classifier"] == made
    assert "classifier" not in selections.sql("SELECT result FROM reports")
    assert [event["head"] for event in selections.events_of(selection_id, "classifier")] == ["prior"]


@pytest.mark.parametrize(
    "make", [make_classifier, make_states_classifier, make_pool, make_bag_of_words], ids=lambda make: make.__name__
)
def test_chosen_classifier_is_read(client: TestClient, selections: Selections, make: Callable[[], Classifier]) -> None:
    path = f"/selections/{selections.succeeded(make_result(classifier=make()))}"
    (chosen,) = (one for one in client.get(f"{path}/result").json()["tested"] if one["is_chosen"])
    read = client.get(f"{path}/classifier")
    assert Classifier.model_validate_json(read.content) == make()
    assert (read.json()["head"]["kind"], read.json()["holds_words"]) == (chosen["head"], "words" in chosen["head"])


def test_cancelled_result_without_classifier_names_resume(client: TestClient, selections: Selections) -> None:
    selection_id = selections.finish(selections.cancelling(), make_result(StopReason.CANCELLED, has_classifier=False))
    body = problem_of(client.get(f"/selections/{selection_id}/classifier"), 409, "no-classifier")
    assert "cancelled before one was made" in body["detail"]
    assert f"POST /selections/{selection_id}/resume" in body["detail"]
    assert client.post(f"/selections/{selection_id}/resume").status_code == 202
    events = client.get(f"/selections/{selection_id}/events").json()["items"]
    assert {event["type"] for event in events} == {"status", "resumed"}


@pytest.mark.parametrize(
    ("reason", "remedy"), [(StopReason.BUDGET, "a larger budget"), (StopReason.COMPLETED, "another classifier.kind")]
)
def test_succeeded_result_without_classifier_says_how_to_get_one(
    client: TestClient, selections: Selections, reason: StopReason, remedy: str
) -> None:
    selection_id = selections.succeeded(make_result(reason, has_classifier=False))
    body = problem_of(client.get(f"/selections/{selection_id}/classifier"), 409, "no-classifier")
    dataset_id = client.get(f"/selections/{selection_id}").json()["dataset_id"]
    assert f"submit a new selection with dataset_id {dataset_id} and {remedy}" in body["detail"]
