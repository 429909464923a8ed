"""Evaluations and predictions, from the submission to their output."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from app.database import Database
from app.lifecycle import endings
from app.lifecycle.results import SelectionOutcome
from app.settings import Settings
from lens_engine.predicting.rows import BATCH_ROWS
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import SMALL_OPTIONS, make_result, make_rows, problem_of
from tests.integration.worker import doubles
from tests.integration.worker.test_execution import end_the_wait, run_with
from worker.execution import Attempt

TEXTS = [f"a film of {number} scenes" for number in range(2 * BATCH_ROWS + 40)]


@pytest.fixture
def selection(selections: Selections, settings: Settings) -> str:
    """A selection that a worker ran."""
    options = {**SMALL_OPTIONS, "classifier": {"kind": "label_probabilities"}}
    selection_id = selections.queued(options=options)
    run_with(settings, "offered", selection_id)
    return selection_id


def submit(client: TestClient, path: str, **body: Any) -> str:
    response = client.post(path, json=body)
    assert response.status_code == 202, response.text
    assert response.headers["location"].endswith(response.json()["id"])
    return str(response.headers["location"])


def run(settings: Settings, path: str, double: str = "offered") -> None:
    run_with(settings, double, path.rpartition("/")[2])


def succeeded(client: TestClient, path: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(path).json()
    assert found["status"] == "succeeded", found
    return found


def test_evaluation_on_the_test_rows_gives_the_answers_of_the_selection(
    client: TestClient, settings: Settings, selection: str
) -> None:
    result = client.get(f"/selections/{selection}/result").json()
    for prompts, test in (
        ("support_examples", result["support_examples"][0]["without_biases"]),
        ("classifier", result["classifier"]["test"]),
    ):
        path = submit(client, f"/selections/{selection}/evaluations", spec={"prompts": prompts})
        run(settings, path)
        found = succeeded(client, path)
        assert found["source"] == {"selection_id": selection, "prompt_name": None, "version": None}
        quality = found["result"]["quality"]
        for name, value in test.items():
            assert quality[name] == pytest.approx(value)
        low, high = quality["log_loss_ci95"]
        assert low <= quality["log_loss"] <= high
        assert found["result"]["comparison"]["same_answers"] == test["n"]
        assert found["result"]["matches"] is True
        assert sum(map(sum, found["result"]["confusion"])) == test["n"]


def test_evaluation_of_other_rows_orders_and_turns(
    client: TestClient, settings: Settings, database: Database, selections: Selections
) -> None:
    claim, result = selections.running(), make_result()
    made_of = result.provenance.model_copy(update={"model": settings.default_model, "revision": "0" * 64})
    with database.session_scope() as session:
        endings.finish(session, claim, SelectionOutcome(result.model_copy(update={"provenance": made_of})))
    spec = {"form": "openai-chat", "orders": 5, "use": "probabilities"}
    path = submit(client, f"/selections/{claim.job_id}/evaluations", spec=spec, examples=make_rows()[:30])
    run(settings, path)
    found = succeeded(client, path)["result"]
    # Two demonstrations have one other order.
    assert (found["quality"]["n"], found["form"], found["order"]["permutations"]) == (30, "openai-chat", 1)
    assert (found["comparison"], found["matches"]) == (None, None)
    path = submit(client, f"/selections/{claim.job_id}/evaluations", examples=make_rows()[:30])
    run(settings, path)
    assert succeeded(client, path)["result"]["confusion"] != found["confusion"]


def test_export_says_what_the_evaluation_of_its_form_found(
    client: TestClient, settings: Settings, selection: str
) -> None:
    export = f"/selections/{selection}/export?format=openai-chat"
    before = client.get(export)
    assert before.headers["x-format-matches-evaluation"] == "null"
    assert "x-format-accuracy" not in before.headers

    path = submit(client, f"/selections/{selection}/evaluations", spec={"form": "openai-chat"})
    run(settings, path)

    found = succeeded(client, path)["result"]
    after = client.get(export, headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert after.headers["x-format-matches-evaluation"] == json.dumps(found["matches"])
    assert float(after.headers["x-format-accuracy"]) == found["quality"]["accuracy"]
    shown = {one: client.get(f"/selections/{selection}/export?format={one}").headers for one in ("langchain", "dspy")}
    assert shown["langchain"]["x-format-accuracy"] == after.headers["x-format-accuracy"]  # it has the same turns
    assert shown["dspy"]["x-format-matches-evaluation"] == "null"
    dataset_id = client.get(f"/selections/{selection}").json()["dataset_id"]
    with_more_rows = {"spec": {"form": "openai-chat"}, "dataset_id": dataset_id}
    for other in (with_more_rows, {"spec": {"form": "openai-chat", "use": "probabilities"}}):
        path = submit(client, f"/selections/{selection}/evaluations", **other)
        run(settings, path)
        succeeded(client, path)
        unchanged = client.get(export, headers={"If-None-Match": after.headers["etag"]})
        assert unchanged.status_code == 304
    client.put("/prompts/triage", json={"selection_id": selection}, headers={"If-None-Match": "*"})
    assert client.delete(f"/selections/{selection}").status_code == 204
    named = client.get("/prompts/triage/export?format=openai-chat")
    assert named.headers["x-format-accuracy"] == after.headers["x-format-accuracy"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"spec": {"form": "csv"}}, 422, "invalid-options"),
        ({"spec": {"prompts": "classifier", "form": "gemini"}}, 422, "invalid-options"),
        ({"spec": {"num_prompts": 2}}, 422, "invalid-options"),
        ({"spec": {"model": "another"}}, 422, "unknown-model"),
        ({"spec": {"orders": 33}}, 422, "invalid-request"),
        ({"spec": {"prompts": "classifier", "orders": 2}}, 422, "invalid-request"),
        (
            {"examples": [{"text": "a", "label": "unheard of"}, {"text": "b", "label": "positive"}]},
            422,
            "invalid-dataset",
        ),
        ({"dataset_id": "ds_01jd5g9k2m7x8y4z0q3r6t1v5w"}, 422, "unknown-dataset"),
    ],
)
def test_evaluation_that_cannot_be_is_refused(
    client: TestClient, selection: str, body: dict[str, Any], status: int, code: str
) -> None:
    problem_of(client.post(f"/selections/{selection}/evaluations", json=body), status, code)
    assert client.get("/evaluations").json()["items"] == []


def test_prediction_has_the_columns_of_its_input(client: TestClient, settings: Settings, selection: str) -> None:
    file = b'id,text,label\n1,"a warm film, and dear",x\n2,,\n3,"say ""hi""",y\n'
    response = client.post(f"/selections/{selection}/predictions", files={"texts": ("october.csv", file)})
    assert response.status_code == 202, response.text
    path = response.headers["location"]
    problem_of(client.get(f"{path}/output"), 409, "not-finished")
    run(settings, path)
    assert succeeded(client, path)["output"] == f"{path}/output"

    answer = client.get(f"{path}/output")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8"))))
    assert [row["input_label"] for row in rows] == ["x", "", "y"]
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert rows[1]["label"] == ""
    assert "blank" in rows[1]["error"]
    assert {rows[0]["label"], rows[2]["label"]} <= {"positive", "negative"}
    lines = [json.loads(line) for line in client.get(f"{path}/output?format=jsonl").content.splitlines()]
    assert [one["label"] for one in lines] == [row["label"] or None for row in rows]
    table = pyarrow.parquet.read_table(io.BytesIO(client.get(f"{path}/output?format=parquet").content))
    assert table.column("label").to_pylist() == [one["label"] for one in lines]
    known = client.get(f"{path}/output", headers={"If-None-Match": answer.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


def test_name_predicts_with_its_version(client: TestClient, settings: Settings, selection: str) -> None:
    client.put("/prompts/triage", json={"selection_id": selection}, headers={"If-None-Match": "*"})
    path = submit(client, "/prompts/triage/predictions", texts=["a warm film"])
    assert client.delete(f"/selections/{selection}").status_code == 204
    run(settings, path)
    source = succeeded(client, path)["source"]
    assert source == {"selection_id": selection, "prompt_name": "triage", "version": 1}
    listed = client.get("/predictions?source=triage").json()["items"]
    assert [one["id"] for one in listed] == [path.rpartition("/")[2]]
    assert client.get("/predictions?source=other").json()["items"] == []
    assert client.get("/selections").json()["items"] == []


@pytest.fixture
def undisturbed(client: TestClient, settings: Settings, selection: str) -> bytes:
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS)
    run(settings, path)
    succeeded(client, path)
    return client.get(f"{path}/output").content


def test_next_attempt_goes_on_after_the_last_row_that_is_kept(
    client: TestClient, settings: Settings, database: Database, selection: str, undisturbed: bytes
) -> None:
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS)
    with pytest.raises(RuntimeError):
        run(settings, path, "dies_at_second_call")
    assert client.get(path).json()["status"] == "queued"
    assert run_sql(database, "SELECT count(*) FROM predictions WHERE job_id = :id", id=path.rpartition("/")[2]) == 256
    end_the_wait(database)
    doubles.COUNTED.clear()

    run(settings, path, "counting")

    succeeded(client, path)
    assert client.get(f"{path}/output").content == undisturbed
    assert sum(doubles.COUNTED) == len(TEXTS) - BATCH_ROWS


def test_cancelled_prediction_resumes(
    client: TestClient, settings: Settings, selection: str, undisturbed: bytes
) -> None:
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS)
    with pytest.raises(RuntimeError):
        run(settings, path, "dies_at_second_call")
    assert client.post(f"{path}/cancel").status_code == 202
    problem = problem_of(client.get(f"{path}/output"), 409, "no-result")
    assert f"POST {path}/resume" in problem["detail"]
    assert client.post(f"{path}/resume").status_code == 202
    run(settings, path)
    succeeded(client, path)
    assert client.get(f"{path}/output").content == undisturbed


def test_rows_of_another_device_are_asked_again(
    client: TestClient, settings: Settings, database: Database, selection: str
) -> None:
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS)
    with pytest.raises(RuntimeError):
        run(settings, path, "dies_at_second_call")
    run_sql(database, "UPDATE selections SET provenance = jsonb_set(provenance, '{device}', '\"cuda\"')")
    end_the_wait(database)
    doubles.COUNTED.clear()
    run(settings, path, "counting")
    succeeded(client, path)
    assert sum(doubles.COUNTED) == len(TEXTS)
    events = client.get(f"{path}/events").json()["items"]
    assert [one["type"] for one in events if one["type"].startswith("checkpoint")] == ["checkpoint-foreign"]


def test_what_is_too_much_is_refused(
    client: TestClient, make_client: Callable[..., TestClient], selection: str
) -> None:
    path = f"/selections/{selection}"
    wide = "".join(json.dumps({"text": "a", f"key {number}": 1}) + "\n" for number in range(300)).encode()
    refusal = problem_of(
        client.post(f"{path}/predictions", files={"texts": ("a.jsonl", wide)}), 413, "dataset-too-large"
    )
    assert "301 columns" in refusal["detail"]
    rows = [{"text": f"{number}", "label": "positive"} for number in range(700)]
    refusal = problem_of(
        client.post(f"{path}/evaluations", json={"examples": rows, "spec": {"orders": 30}}), 422, "invalid-request"
    )
    assert refusal["errors"][0]["pointer"] == "/spec/orders"
    small = make_client(max_pairs=100)
    refusal = problem_of(small.post(f"{path}/evaluations", json={"examples": rows}), 422, "invalid-request")
    assert "700 pairs" in refusal["detail"]


def test_attempt_that_is_lost_keeps_nothing(
    client: TestClient, settings: Settings, database: Database, selections: Selections, selection: str
) -> None:
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS[:3])
    claim = selections.claim(path.rpartition("/")[2], lease_seconds=60)
    run_sql(database, "UPDATE selections SET attempt = attempt + 1 WHERE id = :id", id=claim.job_id)
    allowed = {settings.default_model: "testing:tests.integration.worker.doubles:offered"}
    Attempt(database, claim, settings.model_copy(update={"allowed_models": allowed})).run()
    assert run_sql(database, "SELECT count(*) FROM predictions") == 0
