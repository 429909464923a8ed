"""Evaluations and predictions by a prompt that finds demonstrations for each input."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.lifecycle import endings
from app.lifecycle.results import SelectionOutcome
from app.settings import Settings
from app.store.database import Database
from lens_engine.config import FormKind
from lens_engine.evaluation.rows import BATCH_ROWS
from lens_engine.result import SelectionResult
from lens_engine.result.of_prompt import classifier_of_prompt
from tests.answered import make_answers
from tests.formed import take_form
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import make_bag_of_words, make_result, make_rows, problem_of
from tests.integration.test_quota import stored_by
from tests.integration.worker import doubles
from tests.integration.worker.test_classifying import TEXTS, run, submit, succeeded
from tests.integration.worker.test_execution import end_the_wait

Finish = Callable[..., tuple[str, SelectionResult]]


@pytest.fixture
def finish(database: Database, selections: Selections, settings: Settings) -> Finish:
    """Ends a selection with a prompt of a form; its path, and its result."""

    def end(kind: FormKind = "nearest", **changes: Any) -> tuple[str, SelectionResult]:
        claim, plain = selections.running(), make_result(classifier=make_bag_of_words())
        made_of = plain.provenance.model_copy(update={"model": settings.default_model, "revision": "0" * 64})
        result = take_form(plain.model_copy(update={"provenance": made_of, **changes}), kind)
        with database.session_scope() as session:
            endings.finish(session, claim, SelectionOutcome(result))
        return f"/selections/{claim.job_id}", result

    return end


def predict(result: SelectionResult, texts: list[str], use: Any = None) -> list[str]:
    """What the prompt answers in the library, whatever the name of its model."""
    asked = classifier_of_prompt(result, use)
    assert asked.retrieval is not None
    return list(asked.predict(texts, doubles.sound()).labels)


def read_labels(client: TestClient, path: str) -> list[Any]:
    return [json.loads(line)["label"] for line in client.get(f"{path}/output?format=jsonl").content.splitlines()]


@pytest.mark.parametrize("kind", ["nearest", "fixed+nearest"])
def test_evaluation_judges_the_prompt_of_the_form(
    client: TestClient, settings: Settings, finish: Finish, kind: FormKind
) -> None:
    selection, result = finish(kind)
    rows = make_rows()[:30]
    path = submit(client, f"{selection}/evaluations", examples=rows, spec={"orders": 5})
    run(settings, path)
    found = succeeded(client, path)

    form = {"kind": kind, "nearest": 2}
    labels = predict(result, [row["text"] for row in rows])
    right = sum(label == row["label"] for label, row in zip(labels, rows, strict=True))
    assert found["result"]["quality"]["accuracy"] == pytest.approx(right / 30)
    assert (found["spec"]["prompt_form"], found["result"]["prompt_form"]) == (form, form)
    order = found["result"]["order"]
    assert (order is None) == (kind == "nearest")  # which has no fixed demonstrations to shuffle


@pytest.mark.parametrize("form", [None, "openai-chat"])
def test_fixed_form_is_judged_where_it_is_asked_for_and_by_a_chat(
    client: TestClient, settings: Settings, finish: Finish, form: str | None
) -> None:
    rows = (5, 9, 14)
    answers = make_answers(rows=rows, gold=(1, 1, 0), support_examples=((0,) * 3,) * 2, classifier=None)
    fixed = classifier_of_prompt(finish()[1], is_fixed=True)
    labels = fixed.predict([make_rows()[row]["text"] for row in rows], doubles.sound()).labels
    known = tuple(fixed.labels.index(label) for label in labels)
    selection, _ = finish(test_answers=answers.model_copy(update={"fixed": (known, None)}))
    path = submit(client, f"{selection}/evaluations", spec={"fixed": form is None, "form": form})
    run(settings, path)
    found = succeeded(client, path)["result"]

    assert found["prompt_form"] == {"kind": "fixed", "nearest": 0}
    assert "its fixed form is judged here" in found["warnings"][0]
    assert found["comparison"]["n"] == 3
    assert found["matches"] is (found["comparison"]["same_answers"] == 3)
    assert form is not None or found["matches"] is True
    exported = client.get(f"{selection}/export?format=openai-chat").headers
    assert exported["x-format-matches-evaluation"] == ("null" if form is None else json.dumps(found["matches"]))


def test_fixed_form_predicts_where_it_is_asked_for(client: TestClient, settings: Settings, finish: Finish) -> None:
    selection, result = finish()
    body = {"selection_id": selection.rpartition("/")[2]}
    client.put("/prompts/triage", json=body, headers={"If-None-Match": "*"})
    asked = classifier_of_prompt(result, is_fixed=True)
    spec = {"prompts": "support_examples", "fixed": True}
    for source in (selection, "/prompts/triage"):
        path = submit(client, f"{source}/predictions", texts=TEXTS[:20], spec=spec)
        run(settings, path)
        assert succeeded(client, path)["spec"]["prompt_form"] == {"kind": "fixed", "nearest": 0}
        assert read_labels(client, path) == list(asked.predict(TEXTS[:20], doubles.sound()).labels)


def test_selection_and_name_predict_by_the_prompt(client: TestClient, settings: Settings, finish: Finish) -> None:
    selection, result = finish()
    body = {"selection_id": selection.rpartition("/")[2]}
    assert client.put("/prompts/triage", json=body, headers={"If-None-Match": "*"}).status_code == 201
    spec = {"prompts": "support_examples", "use": "probabilities"}
    texts = [*TEXTS[:20], "a warm film"]
    paths = [submit(client, f"{one}/predictions", texts=texts, spec=spec) for one in (selection, "/prompts/triage")]
    assert client.delete(selection).status_code == 204

    for path in paths:
        run(settings, path)
        shown = succeeded(client, path)["spec"]
        assert (shown["prompts"], shown["use"]) == ("support_examples", "probabilities")
        assert shown["prompt_form"] == {"kind": "nearest", "nearest": 2}
        assert read_labels(client, path) == predict(result, texts, "probabilities")


def test_file_is_predicted_by_the_prompt(client: TestClient, settings: Settings, finish: Finish) -> None:
    selection, result = finish()
    response = client.post(
        f"{selection}/predictions",
        files={"texts": ("october.csv", b"text\na warm film\na dull film\n")},
        data={"spec": json.dumps({"prompts": "support_examples"})},
    )
    assert response.status_code == 202, response.text
    path = response.headers["location"]
    run(settings, path)
    succeeded(client, path)
    assert read_labels(client, path) == predict(result, ["a warm film", "a dull film"])


def test_attempt_that_died_goes_on_with_the_same_bytes(
    client: TestClient, settings: Settings, database: Database, finish: Finish
) -> None:
    selection, _ = finish("fixed+nearest")
    spec = {"prompts": "support_examples"}
    undisturbed = submit(client, f"{selection}/predictions", texts=TEXTS, spec=spec)
    run(settings, undisturbed)
    path = submit(client, f"{selection}/predictions", texts=TEXTS, spec=spec)
    with pytest.raises(RuntimeError):
        run(settings, path, "dies_at_second_call")
    assert run_sql(database, "SELECT count(*) FROM predictions WHERE job_id = :id", id=path.rpartition("/")[2]) == 256
    assert client.delete(selection).status_code == 204  # the job has its own copy of the pool
    end_the_wait(database)
    doubles.COUNTED.clear()

    run(settings, path, "counting")

    assert succeeded(client, path)["digest"] == succeeded(client, undisturbed)["digest"]
    assert client.get(f"{path}/output").content == client.get(f"{undisturbed}/output").content
    assert sum(doubles.COUNTED) == len(TEXTS) - BATCH_ROWS


@pytest.mark.parametrize("what", ["evaluations", "predictions"])
def test_rows_of_the_pool_are_beside_the_spec_until_they_were_asked(
    client: TestClient, settings: Settings, database: Database, finish: Finish, what: str
) -> None:
    selection, result = finish()
    assert result.pool is not None
    body = {"examples": make_rows()[:30]} if what == "evaluations" else {"texts": TEXTS[:20]}
    path = submit(client, f"{selection}/{what}", **body, spec={"prompts": "support_examples"})
    own = {"id": path.rpartition("/")[2]}
    pooled = next(row.text for row in result.pool.rows)
    assert pooled not in json.dumps(run_sql(database, "SELECT spec FROM jobs WHERE id = :id", **own))
    count = "SELECT num_rows FROM pools WHERE job_id = :id"
    assert run_sql(database, count, **own) == len(result.pool.rows)
    used = stored_by(database)
    run(settings, path)
    succeeded(client, path)
    assert run_sql(database, f"SELECT count(*) FROM ({count}) AS own", **own) == 0
    assert what == "evaluations" or stored_by(database) < used


@pytest.mark.parametrize("end", ["fails", "is cancelled"])
def test_another_attempt_asks_the_pool_of_the_submission(
    client: TestClient, settings: Settings, database: Database, selections: Selections, finish: Finish, end: str
) -> None:
    selection, result = finish()
    body = {"selection_id": selection.rpartition("/")[2]}
    client.put("/prompts/triage", json=body, headers={"If-None-Match": "*"})
    path = submit(client, "/prompts/triage/predictions", texts=TEXTS[:20], spec={"prompts": "support_examples"})
    added = {"examples": [{"text": one, "label": "negative"} for one in TEXTS[20:40]]}
    assert client.post("/prompts/triage/examples", json=added, headers={"If-Match": "*"}).status_code == 200
    if end == "fails":
        claim = selections.claim(path.rpartition("/")[2])
        with database.session_scope() as session:
            assert endings.fail(session, claim, {"code": "non-finite", "detail": "NaN"})
        assert client.post(f"{path}/retry").status_code == 202
    else:
        assert client.post(f"{path}/cancel").status_code == 202
        assert client.post(f"{path}/resume").status_code == 202
    assert client.delete(selection).status_code == 204
    assert client.delete("/prompts/triage", headers={"If-Match": "*"}).status_code == 204

    run(settings, path)

    succeeded(client, path)
    assert read_labels(client, path) == predict(result, TEXTS[:20])


def test_wishes_that_a_classifier_has_not_are_refused(client: TestClient, finish: Finish) -> None:
    selection, _ = finish()
    refusal = problem_of(
        client.post(f"{selection}/evaluations", json={"spec": {"prompts": "classifier", "fixed": True}}),
        *(422, "invalid-request"),
    )
    assert refusal["errors"][0]["pointer"] == "/spec/fixed"
    for spec in ({"use": "prompt"}, {"fixed": True}, {"prompts": "both"}):
        problem_of(client.post(f"{selection}/predictions", json={"texts": ["a"], "spec": spec}), 422, "invalid-request")
