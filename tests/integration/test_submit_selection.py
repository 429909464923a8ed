"""POST /selections: what is taken, and every refusal."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import func, select
from starlette.testclient import TestClient

from app.database import Database
from app.lifecycle.spec import SPEC_VERSION
from app.models import Base, Dataset, Example, Selection
from app.selections.openapi import EXAMPLE_SUBMISSION
from app.settings import Settings
from lens_engine.task.defaults import DEFAULT_TEMPLATE
from tests.integration.samples import (
    SMALL_OPTIONS,
    make_csv,
    make_rows,
    make_spec,
    make_submission,
    pointers_of,
    problem_of,
)


def count_rows(database: Database) -> int:
    with database.session_scope() as session:
        tables = Base.metadata.sorted_tables
        return sum(session.scalar(select(func.count()).select_from(table)) or 0 for table in tables)


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
    assert body["spec"]["config"]["filtering"]["keep"] == 4
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


def test_list_of_labels_is_taken_as_their_words(client: TestClient) -> None:
    body = client.post("/selections", json=make_submission(verbalizer=["positive", "negative"])).json()
    assert list(body["spec"]["verbalizer"].items()) == [("positive", "positive"), ("negative", "negative")]
    assert not [warning for warning in body["warnings"] if warning.startswith("spec:")]


def test_labels_that_share_a_word_are_refused_without_a_verbalizer(client: TestClient) -> None:
    rows = [{**row, "label": "not_good" if row["label"] == "negative" else "not good"} for row in make_rows()]
    response = client.post("/selections", json={"spec": {"options": SMALL_OPTIONS}, "examples": rows})
    body = problem_of(response, 422, "invalid-verbalizer")
    assert pointers_of(body) == ["/spec/verbalizer/not_good"]
    assert "share the label word 'not good'" in body["detail"]


def test_labels_keep_the_order_of_the_verbalizer(client: TestClient) -> None:
    verbalizer = {"positive": "great", "negative": "terrible"}
    body = client.post("/selections", json=make_submission(verbalizer=verbalizer)).json()
    again = client.get(f"/selections/{body['id']}").json()
    assert list(body["spec"]["verbalizer"].items()) == list(verbalizer.items())
    assert list(again["spec"]["verbalizer"].items()) == list(verbalizer.items())


def test_file_is_stored_row_by_row_and_its_spool_is_removed(
    client: TestClient, database: Database, settings: Settings
) -> None:
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


def test_spec_sent_as_a_json_file_part_is_accepted(client: TestClient) -> None:
    parts = {"dataset": ("d.csv", make_csv()), "spec": ("spec.json", json.dumps(make_spec()).encode())}
    assert client.post("/selections", files=parts).status_code == 202


def test_earlier_dataset_is_reused_by_its_id(client: TestClient, database: Database) -> None:
    first = client.post("/selections", json=make_submission()).json()
    second = client.post("/selections", json={"spec": make_spec(), "dataset_id": first["dataset_id"]})
    assert second.status_code == 202
    assert second.json()["dataset_id"] == first["dataset_id"]
    with database.session_scope() as session:
        assert session.scalar(select(func.count()).select_from(Dataset)) == 1


FEW_ROWS = (
    "too few test rows for a reliable accuracy: 8, fewer than 30",
    "too few validation rows for a reliable choice of prompts: 4, fewer than 10",
)


def test_warnings_of_both_files_are_shown_from_the_first_answer_on(client: TestClient) -> None:
    noted = [{**row, "note": "x"} for row in make_rows()]
    sparse = b"text,label\n" + b"\n" * 2 + make_csv(make_rows()[:20]).partition(b"\n")[2]
    parts = {"dataset": b"\n".join(json.dumps(row).encode() for row in noted), "test": sparse}
    expected = [
        "dataset: columns other than text and label are not used: 'note'",
        "test: 2 blank rows were skipped and are not counted in row numbers",
        "20 texts are in the test rows too and were left out of the dataset "
        "(first rows: 0 (line 1), 1 (line 2), 2 (line 3), 3 (line 4), 4 (line 5), 5 (line 6), 6 (line 7), 7 (line 8), "
        "8 (line 9), 9 (line 10), …)",
        *FEW_ROWS,
    ]
    sent = client.post("/selections", files=parts, data={"spec": json.dumps(make_spec())}).json()
    assert sent["warnings"] == expected
    assert client.get(f"/selections/{sent['id']}").json()["warnings"] == expected
    assert client.get("/selections").json()["items"][0]["warnings"] == expected

    reuse = {"spec": make_spec(), "dataset_id": sent["dataset_id"], "test_dataset_id": sent["test_dataset_id"]}
    without_lines = [re.sub(r" \(line \d+\)", "", warning) for warning in expected]
    assert client.post("/selections", json=reuse).json()["warnings"] == without_lines


def test_dataset_without_surprises_has_no_warnings(client: TestClient) -> None:
    rows = [{**row, "text": f"{row['text']} {number}"} for number in range(10) for row in make_rows()]
    options = {"splits": {"validation": 50, "confirmation": 50, "test": 50}}
    body = {"spec": make_spec(options=options), "examples": rows}
    assert client.post("/selections", json=body).json()["warnings"] == []


def test_small_splits_are_warned_of_at_submission(client: TestClient) -> None:
    sent = client.post("/selections", json=make_submission(options={**SMALL_OPTIONS, "splits": {}})).json()
    assert sent["warnings"] == [
        "15 test rows instead of 300: 25 % of the dataset rows are held out",
        "11 validation rows instead of 100: the dataset is small",
        "9 confirmation rows instead of 100: the dataset is small",
        "too few test rows for a reliable accuracy: 15, fewer than 30",
    ]


def test_repeated_and_torn_texts_are_warned_of_at_submission(client: TestClient) -> None:
    repeated, torn = make_rows()[0], {**make_rows()[1], "label": "negative"}
    sent = client.post("/selections", json={"spec": make_spec(), "examples": [*make_rows(), repeated, torn]}).json()
    assert sent["warnings"] == [
        "1 dataset row has the text of an earlier row and was left out (row: 60)",
        "1 text of the dataset rows has more than one label and was set aside (row: 1)",
        *FEW_ROWS,
    ]


def rename(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{"Body": row["text"], "Class": row["label"]} for row in rows]


COLUMNS = {"text_column": "Body", "label_column": "Class"}


def test_columns_of_both_files_may_have_other_names(client: TestClient, database: Database) -> None:
    content = make_csv().replace(b"text,label", b"Body,Class", 1)
    test = b"Body,Class\none,positive\ntwo,negative\n"
    parts = {"dataset": content, "test": test}
    response = client.post("/selections", files=parts, data={"spec": json.dumps(make_spec()), **COLUMNS})
    assert response.status_code == 202, response.text
    with database.session_scope() as session:
        stored = session.scalars(select(Example).where(Example.dataset_id == response.json()["test_dataset_id"])).all()
    assert {(row.text, row.label) for row in stored} == {("one", "positive"), ("two", "negative")}


def test_keys_of_examples_may_have_other_names(client: TestClient, database: Database) -> None:
    body = {"spec": make_spec(), "examples": rename(make_rows()), **COLUMNS}
    sent = client.post("/selections", json=body)
    assert sent.status_code == 202, sent.text
    with database.session_scope() as session:
        stored = session.scalars(select(Example).order_by(Example.row)).all()
    assert [{"text": row.text, "label": row.label} for row in stored] == make_rows()


def test_fault_of_a_label_points_at_the_column_that_was_named(client: TestClient) -> None:
    rows = [*rename(make_rows()), {"Body": "so so", "Class": "mixed"}]
    body = {"spec": make_spec(), "examples": rows, **COLUMNS}
    answer = problem_of(client.post("/selections", json=body), 422, "invalid-dataset")
    assert pointers_of(answer) == ["/examples/60/Class"]


def test_columns_together_with_a_stored_dataset_are_refused(client: TestClient) -> None:
    first = client.post("/selections", json=make_submission()).json()
    body = {"spec": make_spec(), "dataset_id": first["dataset_id"], "text_column": "Body"}
    answer = problem_of(client.post("/selections", json=body), 422, "invalid-request")
    assert "`text_column` cannot be used with `dataset_id`" in answer["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("columns", "pointer"),
    [
        ({"text_column": "Body", "label_column": "Body"}, "/label_column"),
        ({"text_column": ""}, "/text_column"),
        ({"label_column": "x" * 201}, "/label_column"),
    ],
)
def test_bad_column_name_is_refused(client: TestClient, columns: dict[str, str], pointer: str) -> None:
    parts = {"dataset": ("d.csv", make_csv()), "test": ("t.csv", make_csv())}
    response = client.post("/selections", files=parts, data={"spec": json.dumps(make_spec()), **columns})
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


def test_selection_is_enqueued_under_its_first_attempt(client: TestClient, settings: Settings) -> None:
    selection_id = client.post("/selections", json=make_submission()).json()["id"]
    with Redis.from_url(settings.redis_url) as redis:
        assert redis.lrange("rq:queue:lens", 0, -1) == [f"{selection_id}-1".encode()]
        job = redis.hgetall(f"rq:job:{selection_id}-1")
    assert job[b"description"] == selection_id.encode()
    assert job[b"timeout"] == b"86400"
    assert job[b"result_ttl"] == b"0"
    assert job[b"failure_ttl"] == b"604800"


@pytest.mark.parametrize("max_seconds", [90, 31_536_000])
def test_budget_of_seconds_does_not_move_the_time_limit_of_the_job(
    client: TestClient, settings: Settings, max_seconds: int
) -> None:
    selection_id = client.post("/selections", json=with_budget(max_seconds=max_seconds)).json()["id"]
    with Redis.from_url(settings.redis_url) as redis:
        assert redis.hget(f"rq:job:{selection_id}-1", "timeout") == b"86400"


def with_budget(**budget: float) -> dict[str, Any]:
    return make_submission(options={**SMALL_OPTIONS, "budget": budget})


@pytest.mark.parametrize(
    ("budget", "pointers"),
    [
        ({"max_seconds": 3600.5}, ["/spec/options/budget/max_seconds"]),
        ({"max_pairs": 50_001}, ["/spec/options/budget/max_pairs"]),
        (
            {"max_seconds": 7200, "max_pairs": 10**9},
            ["/spec/options/budget/max_seconds", "/spec/options/budget/max_pairs"],
        ),
    ],
)
def test_budget_above_the_ceiling_of_the_service_is_refused_by_name(
    make_client: Callable[..., TestClient], budget: dict[str, float], pointers: list[str]
) -> None:
    client = make_client(max_seconds=3600, max_pairs=50_000)
    problem = problem_of(client.post("/selections", json=with_budget(**budget)), 422, "invalid-options")
    assert pointers_of(problem) == pointers
    ceilings = {"max_seconds": "at most 3,600", "max_pairs": "at most 50,000"}
    for error in problem["errors"]:
        assert ceilings[error["pointer"].rpartition("/")[2]] in error["detail"]


def test_budget_without_limits_gets_the_ceilings_of_the_service(make_client: Callable[..., TestClient]) -> None:
    client = make_client(max_seconds=3600, max_pairs=50_000)
    accepted = client.post("/selections", json=with_budget(max_pairs=100)).json()
    assert accepted["spec"]["config"]["budget"] == {"max_pairs": 100, "max_seconds": 3600.0}
    [warning] = [text for text in accepted["warnings"] if "budget" in text]
    assert warning.startswith("spec: the budget max_seconds was set to 3,600 seconds")


def test_budget_at_the_ceiling_is_taken_without_a_word(make_client: Callable[..., TestClient]) -> None:
    client = make_client(max_seconds=3600, max_pairs=50_000)
    accepted = client.post("/selections", json=with_budget(max_seconds=3600, max_pairs=50_000)).json()
    assert accepted["spec"]["config"]["budget"] == {"max_pairs": 50_000, "max_seconds": 3600.0}
    assert [text for text in accepted["warnings"] if "budget" in text] == []


def test_example_of_the_documentation_is_accepted(client: TestClient) -> None:
    assert client.post("/selections", json=EXAMPLE_SUBMISSION).status_code == 202


def test_selection_is_accepted_while_redis_is_away(make_client: Callable[..., TestClient], tmp_path: Path) -> None:
    client = make_client(redis_url=f"unix://{tmp_path}/nothing.sock")
    assert client.post("/selections", json=make_submission()).status_code == 202


def test_name_that_is_a_path_names_no_file(client: TestClient, tmp_path: Path) -> None:
    target = tmp_path / "escaped.csv"
    parts = {"dataset": (f"../../..{target}", make_csv())}
    assert client.post("/selections", files=parts, data={"spec": json.dumps(make_spec())}).status_code == 202
    assert not target.exists()


REFUSED_SPECS: list[tuple[str, dict[str, Any], str, str]] = [
    ("no text slot", {"template": "It was {label}."}, "invalid-template", "/spec/template"),
    ("no label slot", {"template": "{text}"}, "invalid-template", "/spec/template"),
    ("slot twice", {"template": "{text} {text} {label}"}, "invalid-template", "/spec/template"),
    ("unknown slot", {"template": "{text} {other} {label}"}, "invalid-template", "/spec/template"),
    ("label first", {"template": "{label} {text}"}, "invalid-template", "/spec/template"),
    ("attribute", {"template": "{text.__class__} {label}"}, "invalid-template", "/spec/template"),
    ("conversion", {"template": "{text!r} {label}"}, "invalid-template", "/spec/template"),
    ("format", {"template": "{text:>999999999} {label}"}, "invalid-template", "/spec/template"),
    ("index", {"template": "{text[0]} {label}"}, "invalid-template", "/spec/template"),
    ("jinja", {"template": "{{ text }} {% if x %}{{ label }}"}, "invalid-template", "/spec/template"),
    ("open brace", {"template": "{text {label}"}, "invalid-template", "/spec/template"),
    ("template of no type", {"template": 5}, "invalid-request", "/spec/template"),
    ("template too long", {"template": "x" * 20_001}, "invalid-request", "/spec/template"),
    (
        "empty word",
        {"verbalizer": {"positive": "", "negative": "bad"}},
        "invalid-verbalizer",
        "/spec/verbalizer/positive",
    ),
    (
        "blank word",
        {"verbalizer": {"positive": "  ", "negative": "bad"}},
        "invalid-verbalizer",
        "/spec/verbalizer/positive",
    ),
    (
        "same words",
        {"verbalizer": {"positive": "ok", "negative": "ok"}},
        "invalid-verbalizer",
        "/spec/verbalizer/negative",
    ),
    (
        "same words, other Unicode form",
        {"verbalizer": {"positive": "caf\u00e9", "negative": "cafe\u0301"}},
        "invalid-verbalizer",
        "/spec/verbalizer/negative",
    ),
    (
        "very long word",
        {"verbalizer": {"positive": "x" * 201, "negative": "bad"}},
        "invalid-request",
        "/spec/verbalizer/positive",
    ),
    ("one label", {"verbalizer": {"positive": "good"}}, "invalid-verbalizer", "/spec/verbalizer"),
    (
        "label with a dot",
        {"verbalizer": {"a.b/c": " ", "negative": "bad"}},
        "invalid-verbalizer",
        "/spec/verbalizer/a.b~1c",
    ),
    (
        "word of no type",
        {"verbalizer": {"positive": 1, "negative": "bad"}},
        "invalid-request",
        "/spec/verbalizer/positive",
    ),
    (
        "word for a label the dataset lacks",
        {"verbalizer": {"positive": "great", "negative": "terrible", "mixed": "so so"}},
        "invalid-verbalizer",
        "/spec/verbalizer/mixed",
    ),
    (
        "no word for a label of the dataset",
        {"verbalizer": {"positive": "great", "mixed": "so so"}},
        "invalid-dataset",
        "/examples/3/label",
    ),
    ("unknown preset", {"preset": "luxury"}, "invalid-request", "/spec/preset"),
    ("unknown option", {"options": {"beam": 4}}, "invalid-options", "/spec/options/beam"),
    (
        "option out of range",
        {"options": {"search": {"beam_width": 0}}},
        "invalid-options",
        "/spec/options/search/beam_width",
    ),
    (
        "budget longer than any timer",
        {"options": {"budget": {"max_seconds": 1e12}}},
        "invalid-options",
        "/spec/options/budget/max_seconds",
    ),
    ("option of no type", {"options": {"seed": "x"}}, "invalid-options", "/spec/options/seed"),
    ("group that is no group", {"options": {"search": 3}}, "invalid-options", "/spec/options/search"),
    ("options that are a list", {"options": []}, "invalid-request", "/spec/options"),
    ("read-only field", {"status": "succeeded"}, "invalid-request", "/spec/status"),
    ("owner", {"owner_id": "root"}, "invalid-request", "/spec/owner_id"),
    ("separator too long", {"separator": "x" * 101}, "invalid-request", "/spec/separator"),
    ("empty name", {"name": ""}, "invalid-request", "/spec/name"),
]


@pytest.mark.parametrize(
    ("changes", "code", "pointer"), [case[1:] for case in REFUSED_SPECS], ids=[c[0] for c in REFUSED_SPECS]
)
def test_bad_spec_is_refused_with_its_place(
    client: TestClient, database: Database, changes: dict[str, Any], code: str, pointer: str
) -> None:
    body = problem_of(client.post("/selections", json=make_submission(**changes)), 422, code)
    assert pointers_of(body)[0] == pointer
    assert count_rows(database) == 0


@pytest.mark.parametrize(
    "model",
    [
        "../../etc",
        "/etc/passwd",
        "file:///etc/passwd",
        "app",
        "",
        "x" * 10_000,
        "gpt2",
        "smollm2-135m-instruct/",
        "\ud800",
    ],
)
def test_model_that_is_not_offered_is_refused(client: TestClient, model: str) -> None:
    content = json.dumps(make_submission(model=model))
    response = client.post("/selections", content=content, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert pointers_of(response.json()) == ["/spec/model"]
    assert "etc" not in response.text


def test_refused_model_is_answered_with_those_on_offer(client: TestClient) -> None:
    body = problem_of(client.post("/selections", json=make_submission(model="gpt-4o")), 422, "unknown-model")
    for fact in ("choose one of smollm2-135m-instruct", "LENS_ALLOWED_MODELS", "open weights", "Hosted chat models"):
        assert fact in body["detail"]


def test_all_faults_of_a_spec_are_named_at_once(client: TestClient) -> None:
    spec = {"template": "{text}", "verbalizer": {"a": "x"}, "options": {"seed": -1}}
    body = problem_of(client.post("/selections", json=make_submission(**spec)), 422, "invalid-template")
    assert pointers_of(body) == ["/spec/template", "/spec/verbalizer", "/spec/options/seed"]


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"verbalizer": 3}, "`verbalizer` must be an object of labels and label words, or a list of labels"),
        ({"verbalizer": ["a", 1]}, "`verbalizer` must be an object of labels and label words, or a list of labels"),
        ({"verbalizer": ["a", "b", "a"]}, "`verbalizer` has a label twice; give it once"),
        ({"template": 3}, "`template` must be a string"),
        ({"preset": "fast"}, "`preset` must be 'quick', 'standard' or 'paper'"),
        ({"seperator": ""}, "unknown field `seperator`; did you mean `separator`?"),
        ({"seed": 1}, "unknown field `seed`; did you mean `options.seed`?"),
        ({"name": ""}, "`name` is empty"),
        ({"name": "x" * 201}, "`name` has more than 200 characters"),
    ],
)
def test_bad_field_of_a_spec_is_refused_in_its_words(client: TestClient, changes: dict[str, Any], detail: str) -> None:
    whole = client.post("/selections", json=make_submission(**changes))
    form = post_files(client, {"dataset": make_csv()}, make_spec(**changes))
    for response in (whole, form):
        body = problem_of(response, 422, "invalid-request")
        assert body["detail"] == detail
        assert pointers_of(body) == [f"/spec/{next(iter(changes))}"]


@pytest.mark.parametrize("options", [{"beam_width": 3}, {"search": {"beam_widht": 3}}])
def test_unknown_option_of_a_spec_is_refused_with_the_one_that_is_meant(
    client: TestClient, options: dict[str, Any]
) -> None:
    body = problem_of(client.post("/selections", json=make_submission(options=options)), 422, "invalid-options")
    assert body["detail"].startswith("there is no option '")
    assert body["detail"].endswith("'; did you mean search.beam_width?")
    assert [error["detail"] for error in body["errors"]] == [body["detail"]]


def test_spec_that_is_no_object_is_refused_in_words(client: TestClient) -> None:
    form = client.post("/selections", files={"dataset": ("d.csv", make_csv())}, data={"spec": "[]"})
    body = problem_of(form, 422, "invalid-request")
    assert (body["detail"], pointers_of(body)) == ("`spec` must be an object", ["/spec"])


def test_all_labels_that_do_not_match_are_named(client: TestClient) -> None:
    verbalizer = {"good": "great", "bad": "terrible"}
    body = problem_of(client.post("/selections", json=make_submission(verbalizer=verbalizer)), 422, "invalid-dataset")
    assert pointers_of(body) == [
        *("/examples/0/label", "/examples/3/label"),
        *("/spec/verbalizer/good", "/spec/verbalizer/bad"),
    ]


BAD_BODIES: list[tuple[str, str | bytes, int, str]] = [
    ("empty", "", 400, "bad-request"),
    ("not JSON", "{", 400, "bad-request"),
    ("NaN", '{"spec": NaN}', 400, "bad-request"),
    ("Infinity", '{"spec": {"options": {"seed": Infinity}}}', 400, "bad-request"),
    ("the same name twice", '{"spec": {}, "spec": {}}', 400, "bad-request"),
    ("a number without end", '{"spec": ' + "9" * 5000 + "}", 400, "bad-request"),
    ("nested without end", "[" * 100_000, 400, "bad-request"),
    ("not UTF-8", b'{"spec": "\xff"}', 400, "bad-request"),
    ("half a surrogate pair", '{"spec": {"template": "\\ud800 {text} {label}"}}', 422, "invalid-request"),
    ("NUL", '{"spec": {"template": "\\u0000 {text} {label}"}}', 422, "invalid-request"),
    ("a list", "[]", 422, "invalid-request"),
    ("null", "null", 422, "invalid-request"),
    ("no examples", '{"spec": {"template": "{text} {label}", "verbalizer": {}}}', 422, "invalid-request"),
]


@pytest.mark.parametrize(
    ("content", "status", "code"), [case[1:] for case in BAD_BODIES], ids=[c[0] for c in BAD_BODIES]
)
def test_bad_json_is_refused(client: TestClient, content: str | bytes, status: int, code: str) -> None:
    response = client.post("/selections", content=content, headers={"Content-Type": "application/json"})
    problem_of(response, status, code)


def test_two_sources_of_examples_are_refused(client: TestClient) -> None:
    problem_of(client.post("/selections", json={**make_submission(), "dataset_id": "ds_1"}), 422, "invalid-request")


@pytest.mark.parametrize("field", ["dataset_id", "test_dataset_id"])
def test_unknown_dataset_is_refused(client: TestClient, field: str) -> None:
    submission = make_submission() if field == "test_dataset_id" else {"spec": make_spec()}
    body = problem_of(client.post("/selections", json={**submission, field: "ds_nowhere"}), 422, "unknown-dataset")
    assert pointers_of(body) == [f"/{field}"]


def test_bad_inline_rows_are_named(client: TestClient, database: Database) -> None:
    submission = make_submission()
    submission["examples"][4] = {"text": "", "label": "positive"}
    submission["examples"][7] = {"text": "fine"}
    submission["examples"][9] = "text"
    body = problem_of(client.post("/selections", json=submission), 422, "invalid-dataset")
    assert pointers_of(body) == ["/examples/4/text", "/examples/7/label", "/examples/9"]
    assert count_rows(database) == 0


def test_bad_rows_of_a_file_are_named(client: TestClient, database: Database, settings: Settings) -> None:
    content = make_csv() + b"\n,positive\nfine,"
    body = problem_of(post_files(client, {"dataset": content}), 422, "invalid-dataset")
    assert pointers_of(body) == ["/dataset/rows/60/text", "/dataset/rows/61/label"]
    assert count_rows(database) == 0
    assert settings.spool_dir is not None
    assert list(settings.spool_dir.iterdir()) == []


def test_bad_row_of_the_test_file_is_named(client: TestClient) -> None:
    files = {"dataset": make_csv(), "test": make_csv(make_rows()[:10]) + b"\nfine,unheard"}
    body = problem_of(post_files(client, files), 422, "invalid-dataset")
    assert pointers_of(body) == ["/test/rows/10/label"]


BAD_FILES: list[tuple[str, bytes, int, str]] = [
    ("empty", b"", 422, "dataset-empty"),
    ("header only", b"text,label\n", 422, "dataset-empty"),
    ("one row", b"text,label\na,positive\n", 422, "dataset-empty"),
    ("no label column", b"text,lable\na,positive\nb,negative\n", 422, "invalid-dataset"),
    ("unclosed quote", make_csv() + b'\n"open,positive', 422, "invalid-dataset"),
    ("Latin-1", make_csv() + "\ncafé,positive".encode("latin-1"), 422, "invalid-dataset"),
    ("gzip", b"\x1f\x8b\x08\x00" + bytes(100), 415, "unsupported-media-type"),
    ("zip", b"PK\x03\x04" + bytes(100), 415, "unsupported-media-type"),
    ("too few of a label", make_csv(make_rows()[:8]), 422, "class-too-small"),
]


@pytest.mark.parametrize(("content", "status", "code"), [case[1:] for case in BAD_FILES], ids=[c[0] for c in BAD_FILES])
def test_bad_file_is_refused_and_nothing_stored(
    client: TestClient, database: Database, content: bytes, status: int, code: str
) -> None:
    problem_of(post_files(client, {"dataset": content}), status, code)
    assert count_rows(database) == 0


def test_rows_over_the_cap_are_refused(make_client: Callable[..., TestClient]) -> None:
    problem_of(post_files(make_client(max_rows=59), {"dataset": make_csv()}), 413, "dataset-too-large")


def test_form_without_dataset_is_refused(client: TestClient) -> None:
    response = client.post("/selections", files={"spec": ("s.json", json.dumps(make_spec()))})
    assert pointers_of(problem_of(response, 422, "invalid-request")) == ["/dataset"]


def test_form_without_spec_is_refused(client: TestClient) -> None:
    response = client.post("/selections", files={"dataset": ("d.csv", make_csv())})
    assert pointers_of(problem_of(response, 422, "invalid-request")) == ["/spec"]


def test_form_with_an_unknown_part_is_refused(client: TestClient) -> None:
    response = client.post("/selections", files={"dataset": make_csv(), "data": b""}, data={"spec": "{}"})
    assert pointers_of(problem_of(response, 422, "invalid-request")) == ["/data"]


def test_form_with_two_datasets_is_refused(client: TestClient) -> None:
    parts = [("dataset", ("a.csv", make_csv())), ("dataset", ("b.csv", make_csv()))]
    response = client.post("/selections", files=parts, data={"spec": "{}"})
    assert pointers_of(problem_of(response, 422, "invalid-request")) == ["/dataset"]


def test_dataset_without_a_file_name_is_refused(client: TestClient) -> None:
    response = client.post("/selections", files={"spec": ("s", b"{}")}, data={"dataset": "text,label"})
    assert pointers_of(problem_of(response, 422, "invalid-request")) == ["/dataset"]


def test_form_with_thousands_of_parts_is_refused(client: TestClient) -> None:
    parts = [("dataset", (f"{number}.csv", b"x")) for number in range(2000)]
    assert client.post("/selections", files=parts).status_code == 400


@pytest.mark.parametrize("boundary", ["", "; boundary=", "; boundary=nowhere"])
def test_form_with_a_bad_boundary_is_refused(client: TestClient, boundary: str) -> None:
    headers = {"Content-Type": f"multipart/form-data{boundary}"}
    response = client.post("/selections", content=b"--x\r\n\r\n--x--", headers=headers)
    assert response.status_code in {400, 422}
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("media_type", ["text/csv", "application/x-www-form-urlencoded", "application/gzip", ""])
def test_other_media_type_is_refused(client: TestClient, media_type: str) -> None:
    response = client.post("/selections", content=make_csv(), headers={"Content-Type": media_type})
    problem_of(response, 415, "unsupported-media-type")


def test_compressed_body_is_refused(client: TestClient) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    response = client.post("/selections", content=b"\x1f\x8b", headers=headers)
    problem_of(response, 415, "unsupported-media-type")


def test_nothing_that_was_sent_is_echoed(client: TestClient) -> None:
    canary = "canary-7f3a"
    for changes in ({"template": canary}, {"verbalizer": {"positive": canary}}, {"separator": [canary]}):
        assert canary not in client.post("/selections", json=make_submission(**changes)).text


def test_stored_spec_has_every_option(client: TestClient, database: Database) -> None:
    selection_id = client.post("/selections", json=make_submission()).json()["id"]
    with database.session_scope() as session:
        stored = session.get_one(Selection, selection_id)
        assert stored.spec["config"]["search"]["beam_width"] == 4
        assert stored.spec["verbalizer"] == [["positive", "great"], ["negative", "terrible"]]
        assert stored.spec_version == SPEC_VERSION
