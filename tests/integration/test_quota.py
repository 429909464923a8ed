"""What one owner may have: selections that are queued or running, and bytes of datasets."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import text

from app.settings import Settings
from app.store.database import Database
from app.store.quota import count_stored, hold_quota
from app.web.authentication import LOCAL_OWNER
from tests.api_keys import headers_of
from tests.integration.conftest import MakeClient, Selections, count_rows, run_sql, transact
from tests.integration.samples import make_csv, make_rows, make_spec, make_submission, problem_of
from tests.integration.test_dataset_locks import wait_until_blocked
from tests.integration.test_resume import put_checkpoint


def test_one_selection_too_many_is_refused_until_one_ends(make_client: MakeClient, database: Database) -> None:
    selections = Selections(make_client(max_selections=2), database)
    queued = selections.queued()
    selections.claim(selections.queued())
    response = selections.client.post("/selections", json=make_submission(template="is not looked at"))
    problem_of(response, 429, "too-many-selections")
    assert int(response.headers["Retry-After"]) > 0

    selections.client.post(f"/selections/{queued}/cancel")
    selections.queued()


def test_resume_counts_as_a_submission(make_client: MakeClient, database: Database) -> None:
    selections = Selections(make_client(max_selections=1), database)
    failed, cancelled = selections.failed(), selections.cancelled()
    selections.queued()
    for selection_id in (failed, cancelled):
        problem_of(selections.client.post(f"/selections/{selection_id}/resume"), 429, "too-many-selections")
        assert selections.status_of(selection_id) in {"failed", "cancelled"}


def test_owners_are_counted_apart(make_guarded: MakeClient) -> None:
    client = make_guarded("alice", "bob", max_selections=1)
    answers = [
        client.post("/selections", json=make_submission(), headers=headers_of(owner)).status_code
        for owner in ("alice", "bob", "alice")
    ]
    assert answers == [202, 202, 429]


def test_submission_waits_for_its_owners_other(make_client: MakeClient, database: Database, settings: Settings) -> None:
    selections = Selections(make_client(max_selections=1), database)
    selection_id = selections.cancelled()
    again = text("UPDATE jobs SET status = 'queued', cancelled_at = NULL WHERE id = :id")
    with ThreadPoolExecutor(1) as pool:
        with database.session_scope() as session:
            hold_quota(session, LOCAL_OWNER, settings.model_copy(update={"max_selections": 1}))
            answer = pool.submit(selections.client.post, "/selections", json=make_submission())
            wait_until_blocked(database)
            session.execute(again, {"id": selection_id})
        problem_of(answer.result(), 429, "too-many-selections")


def test_bytes_of_an_owner_are_bounded_and_stored_rows_cost_none(make_client: MakeClient, database: Database) -> None:
    first = make_client().post("/selections", json=make_submission())
    assert first.status_code == 202
    client = make_client(max_owner_bytes=stored_by(database) + 8000)  # for another spec, and not for other rows
    size = run_sql(database, "SELECT num_bytes FROM datasets")
    assert size == sum(len(row["text"].encode()) + len(row["label"]) for row in make_rows())
    assert 1000 < size < 2000

    other = make_submission()
    other["examples"] = [{**row, "text": f"{row['text']} é"} for row in other["examples"]]
    refused = problem_of(client.post("/selections", json=other), 413, "owner-full")

    assert "delete selections" in refused["detail"]
    assert count_rows(database, "datasets") == 1
    again = {"spec": make_submission()["spec"], "dataset_id": first.json()["dataset_id"]}
    assert client.post("/selections", json=again).status_code == 202


def test_owner_above_its_bytes_adds_no_job(make_client: MakeClient) -> None:
    """Each job writes a result, also one of stored rows."""
    stored = make_client().post("/selections", json=make_submission()).json()["dataset_id"]
    again = {"spec": make_submission()["spec"], "dataset_id": stored}
    problem_of(make_client(max_owner_bytes=1).post("/selections", json=again), 413, "owner-full")


def test_refused_upload_takes_no_disk(make_client: MakeClient, database: Database) -> None:
    client = make_client(max_owner_bytes=1_000_000)
    files = {
        "dataset": ("a.csv", make_csv([{"text": f"{'x' * 400} {row}", "label": f"{row % 2}"} for row in range(2500)]))
    }
    size = "SELECT pg_total_relation_size('examples') + pg_total_relation_size('datasets')"
    before = run_sql(database, size)
    for path, spec in (("/selections", make_spec(verbalizer=None, options={})), ("/datasets", None)):
        data = {"spec": json.dumps(spec)} if spec else {}
        problem_of(client.post(path, files=files, data=data), 413, "owner-full")
        assert run_sql(database, size) == before


def test_results_and_checkpoints_are_bytes_of_their_owner(make_client: MakeClient, database: Database) -> None:
    selections = Selections(make_client(), database)
    selection_id, before = selections.queued(), stored_by(database)
    put_checkpoint(database, selection_id, random.Random(0).randbytes(50_000))
    assert stored_by(database) - before >= 50_000
    before = stored_by(database)
    selections.succeeded()
    result = run_sql(database, "SELECT sum(pg_column_size(result)) FROM reports")
    assert stored_by(database) - before > result > 1000


def stored_by(database: Database, owner_id: str = LOCAL_OWNER) -> int:
    return transact(database, count_stored, owner_id)
