import json
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import select
from starlette.testclient import TestClient

from app.lifecycle.spec import StoredSpec
from app.selections.submission_schemas import EXAMPLE_SUBMISSION
from app.settings import Settings
from app.store.database import Database
from app.store.tables import Dataset, Example, Job
from lens_engine.prompt.verbalizer import DEFAULT_TEMPLATE
from tests.integration.samples import SMALL_OPTIONS, make_csv, make_rows, make_spec, make_submission, problem_of


def post_files(client: TestClient, files: dict[str, bytes], spec: Any = None) -> Any:
    parts = {name: (f"{name}.bin", content) for name, content in files.items()}
    return client.post("/selections", files=parts, data={"spec": json.dumps(make_spec() if spec is None else spec)})


def test_json_with_examples_is_accepted(client: TestClient) -> None:
    response = client.post("/selections", json=make_submission(name="reviews"))
    body = response.json()
    assert response.status_code == 202
    assert response.headers["location"] == f"/selections/{body['id']}"
    assert response.headers["retry-after"] == "2"
    assert body["id"].startswith("sel_")
    assert (body["status"], body["attempt"], body["name"]) == ("queued", 0, "reviews")
    assert body["spec"]["config"]["search"]["sets"] == 4
    assert body["spec"]["model"] == "smollm2-135m-instruct"
    assert body["progress"] is None


def test_spec_without_task_takes_the_labels_and_the_default_template(client: TestClient) -> None:
    response = client.post("/selections", json={"spec": {"options": SMALL_OPTIONS}, "examples": make_rows()})
    assert response.status_code == 202, response.text
    body = response.json()
    assert list(body["spec"]["verbalizer"].items()) == [("negative", "negative"), ("positive", "positive")]
    assert body["spec"]["template"] == DEFAULT_TEMPLATE
    assert body["warnings"][:2] == [
        f"spec: no template was given; the default is taken: {DEFAULT_TEMPLATE!r}",
        "spec: no label words were given; each label is its own: 'negative', 'positive'",
    ]
    assert client.get(response.headers["location"]).json()["spec"] == body["spec"]


def test_named_column_of_labels_is_in_the_default_template_of_service_and_page(client: TestClient) -> None:
    content, spec = make_csv().replace(b"text,label", b"text,Mood", 1), {"options": SMALL_OPTIONS}
    sent = client.post("/selections", files={"dataset": content}, data={"spec": json.dumps(spec)}).json()
    again = client.post("/selections", json={"spec": spec, "dataset_id": sent["dataset_id"]}).json()
    assert sent["spec"]["template"] == again["spec"]["template"] == "{text} Mood: {label}."
    page = client.get(f"/pages/suggestion?dataset={sent['dataset_id']}", headers={"HX-Request": "true"}).text
    assert '<textarea id="template" name="template" rows="2">{text} Mood: {label}.</textarea>' in page


def test_several_templates_and_instructions_are_stored_and_shown(client: TestClient, database: Database) -> None:
    wanted = {"template": ["{text} It was {label}.", "{text}: {label}"], "instruction": ["", "Praise?"]}
    body = client.post("/selections", json=make_submission(**wanted)).json()
    assert {name: body["spec"][name] for name in wanted} == wanted
    assert (
        "spec: the run compares prompts in 4 wordings (2 templates with 1 instruction and none)" in body["warnings"][0]
    )
    with database.session_scope() as session:
        stored = session.get_one(Job, body["id"])
        task, others = StoredSpec.read(stored.spec).wordings
    assert [(one.template.pattern, one.instruction) for one in (task, *others)] == [
        ("{text} It was {label}.", ""),
        ("{text} It was {label}.", "Praise?"),
        ("{text}: {label}", ""),
        ("{text}: {label}", "Praise?"),
    ]
    page = client.get(f"/pages/selections/{body['id']}", headers={"HX-Request": "true"}).text
    assert "template 2" in page
    assert "{text}: {label}" in page
    again = client.post("/selections", json={"spec": wanted, "dataset_id": body["dataset_id"]}).json()
    assert {name: again["spec"][name] for name in wanted} == wanted


def test_file_is_stored_as_rows_without_its_spool(client: TestClient, database: Database, settings: Settings) -> None:
    response = post_files(client, {"dataset": make_csv(), "test": make_csv(make_rows()[:20])})
    assert response.status_code == 202, response.text
    body = response.json()
    with database.session_scope() as session:
        dataset = session.get_one(Dataset, body["dataset_id"])
        rows = session.scalars(select(Example).where(Example.dataset_id == dataset.id).order_by(Example.row)).all()
        assert [{"text": row.text, "label": row.label} for row in rows] == make_rows()
        assert [row.row for row in rows] == list(range(60))
        assert (dataset.format, dataset.num_rows, dataset.owner_id) == ("csv", 60, "local")
        assert dataset.label_counts == {"positive": 30, "negative": 30}
        assert session.get_one(Dataset, body["test_dataset_id"]).num_rows == 20
    assert settings.spool_dir is not None
    assert list(settings.spool_dir.iterdir()) == []


def test_warnings_of_both_files_are_shown_from_the_first_answer_on(client: TestClient) -> None:
    noted = [{**row, "note": "x"} for row in make_rows()]
    sparse = b"text,label\n" + b"\n" * 2 + make_csv(make_rows()[:20]).partition(b"\n")[2]
    parts = {"dataset": b"\n".join(json.dumps(row).encode() for row in noted), "test": sparse}
    expected = [
        "dataset: columns other than text and label are not used: 'note'",
        "test: 2 blank rows were skipped and are not counted in row numbers",
        "20 texts are in the test rows too and were left out of the dataset "
        "(line 1, line 2, line 3, line 4, line 5, line 6, line 7, line 8, line 9, line 10 and 10 more)",
        "40 labelled rows are few: what to expect of new texts is known roughly",
    ]
    sent = client.post("/selections", files=parts, data={"spec": json.dumps(make_spec())}).json()
    assert sent["warnings"] == expected
    assert client.get(f"/selections/{sent['id']}").json()["warnings"] == expected

    reuse = {"spec": make_spec(), "dataset_id": sent["dataset_id"], "test_dataset_id": sent["test_dataset_id"]}
    without_lines = [one.replace("line ", "row ") for one in expected]
    assert client.post("/selections", json=reuse).json()["warnings"] == without_lines


COLUMNS = {"text_column": "Body", "label_column": "Class"}


@pytest.mark.parametrize(("number", "words"), [(20, None), (21, "occurs more than 20 times")])
def test_twenty_columns_of_texts_are_joined(client: TestClient, number: int, words: str | None) -> None:
    names = [f"t{place}" for place in range(number)]
    rows = [[row["text"], *names[1:], row["label"]] for row in make_rows()]
    content = "\n".join(map(",".join, [[*names, "Class"], *rows])).encode()
    others = {"spec": json.dumps(make_spec()), "label_column": "Class", "delimiter": ",", "encoding": "utf-8"}
    sent = client.post("/selections", files={"dataset": content}, data={"text_column": names, **others})
    assert (sent.status_code == 202) == (words is None), sent.text
    assert words is None or words in sent.json()["detail"]


@pytest.mark.parametrize("name", COLUMNS)
def test_wrong_column_name_points_to_the_field_that_has_it(client: TestClient, name: str) -> None:
    content = make_csv().replace(b"text,label", b"Body,Class", 1)
    sent = {"spec": json.dumps(make_spec()), **COLUMNS, name: COLUMNS[name].replace("s", "z").replace("y", "ie")}
    refused = client.post("/selections", files={"dataset": content}, data=sent)
    assert refused.status_code == 422
    assert [one["pointer"] for one in refused.json()["errors"]] == [f"/{name}"]
    assert f"columns found: {', '.join(map(repr, COLUMNS.values()))}; name one" in refused.json()["detail"]


def test_file_is_read_with_the_encoding_and_delimiter_that_are_given(client: TestClient, database: Database) -> None:
    rows = [("text", "label"), *((row["text"], row["label"]) for row in make_rows()), ("хорошо", "positive"), ("", "x")]
    content = "".join(f"{text}^{label}\n" for text, label in rows).encode("cp1251")
    data = {"spec": json.dumps(make_spec()), "encoding": "windows-1251", "delimiter": "^"}
    response = client.post("/selections", files={"dataset": content}, data=data)
    assert response.status_code == 202, response.text
    with database.session_scope() as session:
        assert "хорошо" in session.scalars(select(Example.text)).all()
    assert any("1 row without a text left out" in warning for warning in response.json()["warnings"])


def test_selection_is_enqueued_under_its_first_attempt(client: TestClient, settings: Settings) -> None:
    """Its budget does not move the time limit of the job."""
    submission = make_submission(options={**SMALL_OPTIONS, "budget": {"max_seconds": 90}})
    selection_id = client.post("/selections", json=submission).json()["id"]
    with Redis.from_url(settings.redis_url) as redis:
        assert redis.lrange("rq:queue:lens", 0, -1) == [f"{selection_id}-1".encode()]
        job = redis.hgetall(f"rq:job:{selection_id}-1")
    assert job[b"description"] == b"the next job that waits"
    assert job[b"timeout"] == b"86400"
    assert job[b"result_ttl"] == b"0"
    assert job[b"failure_ttl"] == b"604800"


def test_example_of_the_documentation_is_accepted(client: TestClient) -> None:
    assert client.post("/selections", json=EXAMPLE_SUBMISSION).status_code == 202


def test_spec_too_large_to_be_sent_with_each_poll_is_refused(client: TestClient) -> None:
    answer = client.post("/selections", json=make_submission(template="{text}" + "\U0001f642" * 19_900 + "{label}"))

    refusal = problem_of(answer, 422, "invalid-request")
    assert refusal["errors"][0]["pointer"] == "/spec"
    assert "at most 65,536 are allowed" in refusal["detail"]
