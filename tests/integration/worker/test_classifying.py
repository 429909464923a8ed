"""Evaluations and predictions, from the submission to their output."""

import codecs
import csv
import io
import json
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from app.errors import Busy
from app.kinds.prediction_output import MOST_OUTPUTS, Outputs
from app.lifecycle import endings
from app.lifecycle.results import SelectionOutcome
from app.settings import Settings
from app.store.database import Database
from app.web.authentication import LOCAL_OWNER
from lens_engine.classifier.prompt import ModelRecord
from lens_engine.evaluation.rows import BATCH_ROWS
from lens_engine.evaluation.subject import OPTIMISTIC
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import SMALL_OPTIONS, make_classifier, make_result, make_rows, pointers_of, problem_of
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


@pytest.fixture
def made(selections: Selections, settings: Settings, database: Database) -> str:
    """A selection with the result of `make_result`, which left out a label."""
    claim, result = selections.running(), make_result()
    made_of = result.provenance.model_copy(update={"model": settings.default_model, "revision": "0" * 64})
    with database.session_scope() as session:
        changes = {"provenance": made_of, "task": result.task.model_copy(update={"left_out": ("mixed",)})}
        endings.finish(session, claim, SelectionOutcome(result.model_copy(update=changes)))
    return claim.job_id


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
        own, theirs = quality["shares_answered"], test.pop("shares_answered")
        assert [(one["share"], one["accuracy"]) for one in own] == [(one["share"], one["accuracy"]) for one in theirs]
        for name, value in test.items():
            assert quality[name] == pytest.approx(value)
        low, high = quality["log_loss_ci95"]
        assert low <= quality["log_loss"] <= high
        assert found["result"]["comparison"]["same_answers"] == test["n"]
        assert found["result"]["matches"] is True
        assert sum(map(sum, found["result"]["confusion"])) == test["n"]


def test_evaluation_of_other_rows_orders_and_turns(client: TestClient, settings: Settings, made: str) -> None:
    spec = {"form": "openai-chat", "orders": 5, "use": "probabilities"}
    path = submit(client, f"/selections/{made}/evaluations", spec=spec, examples=make_rows()[:30])
    run(settings, path)
    found = succeeded(client, path)["result"]
    # Two demonstrations have one other order.
    assert (found["quality"]["n"], found["form"], found["order"]["permutations"]) == (30, "openai-chat", 1)
    assert (found["comparison"], found["matches"]) == (None, None)
    rows = [*make_rows()[:30], {"text": "so so", "label": "Mixed"}]
    path = submit(client, f"/selections/{made}/evaluations", examples=rows)
    run(settings, path)
    other = succeeded(client, path)["result"]
    assert (other["confusion"] != found["confusion"], other["quality"]["n"]) == (True, 30)
    assert "1 row was left out, which has a label that the selection left out as too rare" in other["warnings"][0]


def test_evaluation_on_the_rows_of_the_selection_says_so(client: TestClient, made: str) -> None:
    dataset_id = client.get(f"/selections/{made}").json()["dataset_id"]
    for rows, warnings in (
        ({"dataset_id": dataset_id}, [f"dataset: {OPTIMISTIC}"]),
        ({"examples": make_rows()}, [f"dataset: {OPTIMISTIC}"]),
        ({"examples": make_rows()[:30]}, []),
    ):
        path = submit(client, f"/selections/{made}/evaluations", **rows)
        assert client.get(path).json()["warnings"] == warnings


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


def test_export_says_nothing_of_the_evaluation_of_another_owner(
    client: TestClient, settings: Settings, database: Database, selection: str
) -> None:
    export = f"/selections/{selection}/export?format=openai-chat"
    path = submit(client, f"/selections/{selection}/evaluations", spec={"form": "openai-chat"})
    run(settings, path)
    assert "x-format-accuracy" in client.get(export).headers
    run_sql(database, "UPDATE jobs SET owner_id = 'another' WHERE kind = 'evaluation'")
    assert "x-format-accuracy" not in client.get(export).headers


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


def test_place_of_a_row_of_a_stored_dataset_is_not_in_the_body(client: TestClient, selection: str) -> None:
    rows = [{"text": "a", "label": "unheard of"}, {"text": "b", "label": "positive"}]
    stored = client.post("/datasets", json={"examples": rows}).json()["id"]
    for body, place in (({"examples": rows}, "/examples"), ({"dataset_id": stored}, "/dataset/rows")):
        refused = client.post(f"/selections/{selection}/evaluations", json=body)
        assert pointers_of(problem_of(refused, 422, "invalid-dataset")) == [f"{place}/0/label"]


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_prediction_has_the_columns_of_its_input(
    mark: bytes, client: TestClient, settings: Settings, selection: str
) -> None:
    file = mark + b'id,text,label\n1,"a warm film, and dear",x\n2,,\n3,"say ""hi""",y\n'
    response = client.post(f"/selections/{selection}/predictions", files={"texts": ("october.csv", file)})
    assert response.status_code == 202, response.text
    path = response.headers["location"]
    problem_of(client.get(f"{path}/output"), 409, "not-finished")
    run(settings, path)
    assert succeeded(client, path)["output"] == f"{path}/output"

    answer = client.get(f"{path}/output")
    assert answer.content.startswith(mark + b'"row"')
    rows = list(csv.DictReader(io.StringIO(answer.content.removeprefix(mark).decode("utf-8"))))
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


def test_prediction_leaves_rows_below_a_threshold_to_a_person(
    client: TestClient, settings: Settings, selection: str
) -> None:
    path = f"/selections/{selection}/predictions"

    def predict(answer_above: float | None) -> list[dict[str, Any]]:
        job = submit(client, path, texts=TEXTS[:40], spec={"answer_above": answer_above})
        assert client.get(job).json()["spec"]["answer_above"] == answer_above
        run(settings, job)
        return [json.loads(line) for line in client.get(f"{job}/output?format=jsonl").content.splitlines()]

    every = predict(None)
    least = sorted(row["probability"] for row in every)[20]
    assert every[0]["probability"] is not None
    assert "answered" not in every[0]
    for before, row in zip(every, predict(least), strict=True):
        is_answered = before["probability"] >= least
        assert row == before | {"label": before["label"] if is_answered else None, "answered": is_answered}
    for wrong in (-0.1, 1.5, "0.9"):
        problem_of(client.post(path, json={"texts": ["a"], "spec": {"answer_above": wrong}}), 422, "invalid-request")


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
    run_sql(database, "UPDATE jobs SET provenance = jsonb_set(provenance, '{device}', '\"cuda\"')")
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
    assert "more than 200 columns" in refusal["detail"]
    rows = [{"text": f"{number}", "label": "positive"} for number in range(700)]
    refusal = problem_of(
        client.post(f"{path}/evaluations", json={"examples": rows, "spec": {"orders": 30}}), 422, "invalid-request"
    )
    assert refusal["errors"][0]["pointer"] == "/spec/orders"
    small = make_client(max_pairs=100)
    for kind, body in (("evaluations", {"examples": rows}), ("predictions", {"texts": ["a"] * 700})):
        refusal = problem_of(small.post(f"{path}/{kind}", json=body), 422, "invalid-request")
        assert "700 pairs are more than the 100" in refusal["detail"]


def test_column_with_a_long_name_is_refused(client: TestClient, selection: str) -> None:
    file = f"text,{'x' * 201}\na,1\n".encode()
    path = f"/selections/{selection}/predictions"
    refusal = problem_of(client.post(path, files={"texts": ("a.csv", file)}), 422, "invalid-dataset")
    assert "the name of column 2" in refusal["detail"]
    assert refusal["errors"][0]["pointer"] == "/texts"


def test_rows_that_are_too_large_as_they_are_stored_are_refused(
    make_client: Callable[..., TestClient], selection: str
) -> None:
    file = ("text,other\n" + "a,1\n" * 500).encode()
    client, path = make_client(max_stored_bytes=2000), f"/selections/{selection}/predictions"
    refusal = problem_of(client.post(path, files={"texts": ("a.csv", file)}), 413, "dataset-too-large")
    assert "more than 2,000 bytes" in refusal["detail"]


def test_owner_reads_two_outputs_at_once(client: TestClient, settings: Settings, selection: str) -> None:
    path = submit(client, f"/selections/{selection}/predictions", texts=["a warm film"])
    run(settings, path)
    outputs = client.app.state.outputs  # type: ignore[attr-defined]
    with outputs.hold(LOCAL_OWNER), outputs.hold(LOCAL_OWNER):
        answer = client.get(f"{path}/output")
        problem_of(answer, 429, "too-many-outputs")
        assert int(answer.headers["retry-after"]) > 0
        with outputs.hold("another owner"):
            pass
    for _ in range(3):
        assert client.get(f"{path}/output").status_code == 200


def test_all_owners_together_read_a_bounded_number_of_outputs() -> None:
    outputs = Outputs()
    with ExitStack() as stack:
        for number in range(MOST_OUTPUTS):
            stack.enter_context(outputs.hold(str(number)))
        with pytest.raises(Busy), outputs.hold("late"):
            pass
    with outputs.hold("late"):
        pass


PAID = {"kind": "openai-chat", "url": "http://127.0.0.1:9/v1", "model": "m", "prices": {"input": 1000, "output": 0}}


def test_job_that_costs_too_much_is_refused(make_client: Callable[..., TestClient], selections: Selections) -> None:
    model = ModelRecord(model="paid", revision="0" * 64, dtype="float32", device="endpoint")
    classifier = make_classifier().model_copy(update={"model": model})  # 66 tokens a row
    selection_id = selections.succeeded(make_result(classifier=classifier))
    client = make_client(endpoints={"paid": PAID}, max_cost_usd=1)
    bodies: dict[str, dict[str, Any]] = {
        "predictions": {"texts": ["a"] * 16},
        "evaluations": {"spec": {"prompts": "classifier"}, "examples": make_rows()[:16]},
    }
    for kind, body in bodies.items():
        path = f"/selections/{selection_id}/{kind}"
        refusal = problem_of(client.post(path, json=body), 422, "invalid-request")
        assert "16 rows may cost 1.06 USD" in refusal["detail"]
        assert "allows 1 USD a job" in refusal["detail"]
        fewer = {name: value[:15] if isinstance(value, list) else value for name, value in body.items()}
        assert client.post(path, json=fewer).status_code == 202


def test_prediction_ends_at_the_limit_on_its_cost_over_all_attempts(
    client: TestClient, settings: Settings, database: Database, selection: str
) -> None:
    """A batch costs 1 USD."""
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS)
    run(settings.model_copy(update={"max_cost_usd": 1.5}), path, "paid")
    found = client.get(path).json()
    assert (found["status"], found["error"]["code"]) == ("failed", "budget-spent")
    assert "cost 1.0000 USD for 256 of 552 rows" in found["error"]["detail"]

    assert client.post(f"{path}/retry").status_code == 202
    run(settings.model_copy(update={"max_cost_usd": 1.5}), path, "paid")
    assert client.get(path).json()["error"]["code"] == "budget-spent"
    assert client.post(f"{path}/retry").status_code == 202
    run(settings.model_copy(update={"max_cost_usd": 3}), path, "paid")
    succeeded(client, path)
    assert run_sql(database, "SELECT paid_usd FROM jobs WHERE id = :id", id=path.rpartition("/")[2]) == 3


@pytest.mark.parametrize("double", ["paid_and_away", "paid_and_leaving", "paid_and_faulty"])
def test_what_an_attempt_paid_counts_whatever_ended_it(
    client: TestClient, settings: Settings, database: Database, selection: str, double: str
) -> None:
    """The second batch is paid, and its answers are lost."""
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS)
    with suppress(RuntimeError):
        run(settings, path, double)
    assert client.get(path).json()["status"] == "queued"
    assert run_sql(database, "SELECT count(*) FROM predictions") == BATCH_ROWS
    assert run_sql(database, "SELECT paid_usd FROM jobs WHERE kind = 'prediction'") == 2


def test_other_orders_of_an_evaluation_are_paid_from_the_same_limit(
    client: TestClient, settings: Settings, database: Database, made: str
) -> None:
    """The rows take two calls, and those of the other order two more."""
    rows = [{"text": text, "label": "positive"} for text in TEXTS[:BATCH_ROWS]] + make_rows()[:30]
    path = submit(client, f"/selections/{made}/evaluations", spec={"orders": 5}, examples=rows)
    with suppress(RuntimeError):
        run(settings, path, "paid_and_faulty_in_the_orders")
    assert run_sql(database, "SELECT paid_usd FROM jobs WHERE kind = 'evaluation'") == 4


def test_what_other_orders_cost_is_noted_batch_by_batch(
    client: TestClient, settings: Settings, database: Database, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed writes nothing more."""
    noted = list[float]()
    query = "SELECT paid_usd FROM jobs WHERE kind = 'evaluation'"
    monkeypatch.setattr(doubles, "watch", lambda _: noted.append(run_sql(database, query)))
    rows = [{"text": text, "label": "positive"} for text in TEXTS[:BATCH_ROWS]] + make_rows()[:30]
    path = submit(client, f"/selections/{made}/evaluations", spec={"orders": 5}, examples=rows)
    run(settings, path, "paid_and_watched")
    assert noted == [0, 1, 2, 3]


def test_attempt_that_is_lost_keeps_nothing(
    client: TestClient, settings: Settings, database: Database, selections: Selections, selection: str
) -> None:
    path = submit(client, f"/selections/{selection}/predictions", texts=TEXTS[:3])
    claim = selections.claim(path.rpartition("/")[2], lease_seconds=60)
    run_sql(database, "UPDATE jobs SET attempt = attempt + 1 WHERE id = :id", id=claim.job_id)
    allowed = {settings.default_model: "testing:tests.integration.worker.doubles:offered"}
    Attempt(database, claim, settings.model_copy(update={"allowed_models": allowed})).run()
    assert run_sql(database, "SELECT count(*) FROM predictions") == 0
