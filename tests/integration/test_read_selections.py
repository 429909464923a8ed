import csv
import io
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.lifecycle import claims, endings
from app.lifecycle.claims import Lease
from app.store.database import Database
from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.result import SelectionResult
from lens_engine.types import Phase, StopReason
from tests.answered import make_answers
from tests.integration.conftest import Selections
from tests.integration.samples import PROGRESS, make_result, make_rows, make_submission, problem_of


def test_pages_join_to_the_whole_list_newest_first(client: TestClient, selections: Selections) -> None:
    made = [selections.queued() for _ in range(5)]
    for limit in (1, 2, 5, 7):
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            parameters = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            page = client.get("/selections", params=parameters).json()
            assert 0 < len(page["items"]) <= limit
            seen += [item["id"] for item in page["items"]]
            cursor = page["next"]
        assert seen == sorted(made, reverse=True)


def test_list_by_status_holds_only_these(client: TestClient, selections: Selections) -> None:
    selections.queued()
    running = selections.running().job_id
    page = client.get("/selections", params={"status": "running"}).json()
    assert [item["id"] for item in page["items"]] == [running]
    assert client.get("/selections", params={"status": "failed"}).json()["items"] == []


def test_cursor_that_is_none_is_refused(client: TestClient) -> None:
    for cursor in ("%21", "aGVsbG8", "", "MTI"):
        problem_of(client.get(f"/selections?cursor={cursor}"), 400, "invalid-cursor")


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("limit=0", "`limit` must be at least 1"),
        ("limit=201", "`limit` must be at most 200"),
        ("limit=x", "`limit` must be a whole number"),
        ("status=done", "`status` must be 'queued', 'running', 'cancelling', 'cancelled', 'succeeded' or 'failed'"),
        ("cursor=" + "x" * 101, "`cursor` has more than 100 characters"),
    ],
)
def test_bad_parameter_is_refused_in_words(client: TestClient, query: str, detail: str) -> None:
    body = problem_of(client.get(f"/selections?{query}"), 400, "bad-request")
    assert body["detail"] == detail
    assert body["errors"] == [{"detail": detail, "pointer": f"/query/{query.partition('=')[0]}"}]


def test_unknown_selection_is_not_found(client: TestClient) -> None:
    for selection_id in ("sel_01jd0000000000000000000000", "ds_1", "...", "'; DROP TABLE x"):
        for path in ("", "/events", "/support-examples", "/result", "/classifier"):
            problem_of(client.get(f"/selections/{selection_id}{path}"), 404, "not-found")


def test_progress_is_shown_while_it_runs(client: TestClient, selections: Selections) -> None:
    claim = selections.running()
    selections.transact(claims.renew_lease, claim, 60, PROGRESS)
    response = client.get(f"/selections/{claim.job_id}")
    body = response.json()
    assert response.headers["retry-after"] == "30"
    assert (body["status"], body["attempt"]) == ("running", 1)
    assert body["progress"] == {**asdict(PROGRESS), "phase": "search"}


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_ended_selection_asks_nobody_to_come_back(client: TestClient, selections: Selections, status: str) -> None:
    response = client.get(f"/selections/{selections.in_state(status)}")
    assert response.json()["status"] == status
    assert response.json()[f"{status}_at"].endswith("Z")
    assert "retry-after" not in response.headers


def end_with_progress(selections: Selections, end: Callable[..., bool], *values: object) -> Any:
    claim = selections.cancelling() if end is endings.finish_cancelled else selections.running()
    assert selections.transact(claims.renew_lease, claim, 60, PROGRESS) is not Lease.LOST
    assert selections.transact(end, claim, *values)
    return selections.client.get(f"/selections/{claim.job_id}").json()["progress"]


def test_progress_of_a_succeeded_selection_is_complete(selections: Selections) -> None:
    progress = end_with_progress(selections, endings.finish, make_result())
    assert (progress["pairs_done"], progress["pairs_total"]) == (120_000, 120_000)
    assert (progress["tokens_done"], progress["tokens_total"]) == (9_000_000, 9_000_000)
    assert (progress["step"], progress["steps"], progress["eta_seconds"]) == (4, 4, 0)


@pytest.mark.parametrize(
    ("end", "values"),
    [
        (endings.finish_cancelled, ()),
        (endings.finish, (make_result(StopReason.CANCELLED),)),
        (endings.fail, ({"code": "timeout"},)),
    ],
)
def test_progress_of_a_stopped_run_stays(selections: Selections, end: Callable[..., bool], values: Any) -> None:
    progress = end_with_progress(selections, end, *values)
    assert progress.pop("eta_seconds") is None
    assert progress == {name: value for name, value in asdict(PROGRESS).items() if name != "eta_seconds"}


def test_unchanged_selection_is_304_and_a_changed_one_is_not(client: TestClient, selections: Selections) -> None:
    claim = selections.running()
    path = f"/selections/{claim.job_id}"
    etag = client.get(path).headers["etag"]
    unchanged = client.get(path, headers={"If-None-Match": f'"other", W/{etag}'})
    assert (unchanged.status_code, unchanged.content, unchanged.headers["etag"]) == (304, b"", etag)
    assert unchanged.headers["retry-after"] == "2"
    selections.transact(claims.renew_lease, claim, 60, PROGRESS)
    changed = client.get(path, headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag


def test_events_tell_the_history_in_order(client: TestClient, selections: Selections, database: Database) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        claims.renew_lease(session, claim, 60, PROGRESS)
        claims.record_event(session, claim, "checkpoint-damaged", {"detail": "x"})
    selections.transact(endings.finish, claim, make_result())
    page = client.get(f"/selections/{claim.job_id}/events").json()
    assert [(item["type"], item["data"].get("from"), item["data"].get("to")) for item in page["items"]] == [
        ("status", None, "queued"),
        ("status", "queued", "running"),
        ("progress", None, None),
        ("phase", None, "search"),
        ("checkpoint-damaged", None, None),
        ("classifier", None, None),
        ("status", "running", "succeeded"),
    ]
    assert page["items"][-2]["data"] == {"head": "prior", "accuracy": 0.75}
    assert page["next"] is None


def test_steps_of_a_selection_are_events(selections: Selections) -> None:
    claim = selections.running()
    first = replace(PROGRESS, phase=Phase.FILTER, step=1, survivors=200, pairs_done=10)
    second = replace(first, survivors=100, pairs_done=20)
    third = replace(PROGRESS, phase=Phase.JUDGE, expected_accuracy=0.83, pairs_done=30)
    for progress in (first, replace(first, pairs_done=15), second, third, replace(third, pairs_done=35)):
        selections.transact(claims.renew_lease, claim, 60, progress)

    told = selections.events_of(claim.job_id, "progress")

    names = ("survivors", "expected_accuracy", "pairs_done", "attempt")
    assert [tuple(one[name] for name in names) for one in told] == [
        (200, None, 10, 1),
        (100, None, 20, 1),
        (third.survivors, 0.83, 30, 1),
    ]


def test_events_come_in_pages(client: TestClient, selections: Selections) -> None:
    path = f"/selections/{selections.succeeded()}/events"
    first = client.get(path, params={"limit": 2}).json()
    second = client.get(path, params={"limit": 2, "cursor": first["next"]}).json()
    assert [len(first["items"]), len(second["items"]), second["next"]] == [2, 2, None]
    assert first["items"][-1]["id"] < second["items"][0]["id"]


def test_cursors_of_lists_and_of_events_are_told_apart(client: TestClient, selections: Selections) -> None:
    selection_id = selections.queued()
    selections.queued()
    cursor = client.get("/selections", params={"limit": 1}).json()["next"]
    path = f"/selections/{selection_id}/events"
    problem_of(client.get(path, params={"cursor": cursor}), 400, "invalid-cursor")


@pytest.mark.parametrize(
    ("query", "use", "rows"),
    [("", "prompt", [3, 0]), ("?use=prompt", "prompt", [3, 0]), ("?use=probabilities", "probabilities", [4, 1])],
)
def test_support_examples_are_the_part_of_the_result_for_the_use(
    client: TestClient, selections: Selections, query: str, use: str, rows: list[int]
) -> None:
    path = f"/selections/{selections.succeeded()}"
    result = client.get(f"{path}/result").json()
    answer = next(one for one in result["support_examples"] if one["use"] == use)
    shown = client.get(f"{path}/support-examples{query}").json()
    expected = shown.pop("expected")
    assert expected == {**{name: answer["estimate"][name] for name in ("accuracy", "ci95", "n")}, "basis": "estimate"}
    assert [example["row"] for example in shown["examples"]] == rows
    assert [shown.pop(name) for name in ("pool_rows", "demonstrations", "name", "version")] == [None] * 4
    assert shown == {name: (answer if name in answer else result)[name] for name in shown}
    assert {"task", "method", "prompt", "label_biases", "recommended", "first", "reason"} <= shown.keys()


def test_uses_have_etags_of_their_own(client: TestClient, selections: Selections) -> None:
    path = f"/selections/{selections.succeeded()}/support-examples"
    known = {"If-None-Match": client.get(path, params={"use": "prompt"}).headers["etag"]}
    assert client.get(path, params={"use": "prompt"}, headers=known).status_code == 304
    assert client.get(path, params={"use": "probabilities"}, headers=known).status_code == 200


def test_result_is_the_engines(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    response = client.get(f"/selections/{selection_id}/result")
    body = response.json()
    assert (body.pop("selection_id"), body.pop("pool_rows")) == (selection_id, None)
    assert body == make_result().model_dump(mode="json")
    assert SelectionResult.model_validate(body).with_digest().digest == body["digest"]
    assert response.headers["cache-control"] == "private, no-cache"
    again = client.get(response.request.url.path, headers={"If-None-Match": response.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("queued", "not-finished"),
        ("running", "not-finished"),
        ("cancelling", "not-finished"),
        ("cancelled", "no-result"),
        ("failed", "no-result"),
    ],
)
def test_selection_without_result_conflicts(client: TestClient, selections: Selections, status: str, code: str) -> None:
    selection_id = selections.in_state(status)
    problem_of(client.get(f"/selections/{selection_id}/support-examples"), 409, code)
    problem_of(client.get(f"/selections/{selection_id}/classifier"), 409, code)
    problem_of(client.post(f"/selections/{selection_id}/render", json={"input": "x"}), 409, code)


def test_input_that_would_fail_again_is_not_to_be_retried(client: TestClient, selections: Selections) -> None:
    claim = selections.running()
    assert selections.transact(endings.fail, claim, {"code": "invalid-options", "detail": "max_pairs is 5"})
    refusal = problem_of(client.get(f"/selections/{claim.job_id}/support-examples"), 409, "no-result")
    assert "submit a new one: max_pairs is 5" in refusal["detail"]
    failed = client.get(f"/selections/{selections.failed()}/support-examples").json()
    assert "/resume queues it again" in failed["detail"]


def test_suspicious_labels_come_with_their_texts(client: TestClient, selections: Selections) -> None:
    judged = {"label": "a", "likelier": "b", "probability": 0.1, "probability_of_likelier": 0.9}
    suspicious = [SuspiciousLabel.model_validate({"row": row, **judged}) for row in (7, 2)]
    result = make_result().model_copy(update={"suspicious_labels": tuple(suspicious)})
    selection_id, rows = selections.succeeded(result), make_rows()
    path = f"/selections/{selection_id}/suspicious-labels"
    shown = client.get(path)
    assert shown.json() == {
        "selection_id": selection_id,
        "items": [{**one.model_dump(), "text": rows[one.row]["text"]} for one in suspicious],
    }
    assert client.get(path, headers={"If-None-Match": shown.headers["etag"]}).status_code == 304
    table = client.get(path, params={"format": "csv"})
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    lines = list(csv.DictReader(io.StringIO(table.content.decode("utf-8-sig"))))
    assert [(line["row"], line["text"]) for line in lines] == [("8", rows[7]["text"]), ("3", rows[2]["text"])]
    problem_of(client.get(f"/selections/{selections.queued()}/suspicious-labels"), 409, "not-finished")


def test_report_has_the_texts_of_rows_that_it_calls_wrong(client: TestClient, selections: Selections) -> None:
    rows = make_rows()
    judged = {"label": "a", "likelier": "b", "probability": 0.1, "probability_of_likelier": 0.9}
    answers = make_answers(rows=(5, 9), gold=(0, 1), support_examples=((0, 1), (1, 1)), classifier=(0, 0))
    found = {"suspicious_labels": (SuspiciousLabel(row=7, **judged),), "answers": answers}
    path = f"/selections/{selections.succeeded(make_result().model_copy(update=found))}/report"
    page = client.get(path)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert [row for row in range(len(rows)) if rows[row]["text"] in page.text] == [0, 3, 5, 7, 9]
    known = {"If-None-Match": page.headers["etag"]}
    assert client.get(path, headers=known).status_code == 304
    problem_of(client.get(f"/selections/{selections.queued()}/report"), 409, "not-finished")


def test_report_has_the_texts_of_rows_of_the_test_file(client: TestClient, selections: Selections) -> None:
    rows = [{"text": f"Unseen {number:02}", "label": ("positive", "negative")[number % 2]} for number in range(20)]
    submitted = client.post("/selections", json={**make_submission(), "test_examples": rows}).json()
    answers = make_answers(is_test=True, rows=(5, 9), gold=(0, 1), support_examples=((0, 1), (1, 1)), classifier=(0, 0))
    result = make_result().model_copy(update={"answers": answers})
    selections.transact(endings.finish, selections.claim(submitted["id"]), result)
    report = client.get(f"/selections/{submitted['id']}/report").text
    assert [number for number, row in enumerate(rows) if row["text"] in report] == [5, 9]
