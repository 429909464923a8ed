import pytest
from redis import Redis
from starlette.testclient import TestClient

from app.lifecycle import endings
from app.lifecycle.claims import Claim
from app.settings import Settings
from app.store.database import Database
from app.store.tables import StoredCheckpoint
from lens_engine.types import StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import make_result, problem_of


def post(client: TestClient, selection_id: str, act: str, status: int = 202) -> dict[str, object]:
    response = client.post(f"/selections/{selection_id}/{act}")
    assert response.status_code == status, response.text
    body: dict[str, object] = response.json()
    return body


def put_checkpoint(database: Database, selection_id: str, data: bytes = b"x") -> None:
    with database.session_scope() as session:
        values = {"job_id": selection_id, "attempt": 1, "phase": "search", "step": 1, "data": data}
        session.add(StoredCheckpoint(**values))


def jobs_in(settings: Settings) -> list[str]:
    with Redis.from_url(settings.redis_url) as redis:
        return [id_.decode() for id_ in redis.lrange("rq:queue:lens", 0, -1)]  # type: ignore[union-attr]


def test_failed_one_is_queued_without_crashes(client: TestClient, selections: Selections, settings: Settings) -> None:
    selection_id = selections.failed()
    error = client.get(f"/selections/{selection_id}").json()["error"]
    selections.sql("UPDATE jobs SET crashes = 3, progress = '{}', phase = 'search'")
    shown = post(client, selection_id, "resume")

    assert (shown["status"], shown["error"], shown["failed_at"], shown["progress"]) == ("queued", None, None, None)
    assert shown["attempt"] == 1
    assert selections.sql("SELECT crashes FROM jobs") == 0
    assert jobs_in(settings)[-1] == f"{selection_id}-2"
    assert selections.claim(selection_id).attempt == 2
    (event,) = selections.events_of(selection_id, "resumed")
    assert event == {"error": error, "attempt": 1, "from_checkpoint": False, "result_deleted": False}


def test_resume_is_not_undone_by_the_attempt_that_failed(client: TestClient, selections: Selections) -> None:
    selection_id = selections.failed()
    post(client, selection_id, "resume")
    late = Claim(selection_id, 1)
    with selections.database.session_scope() as session:
        assert not endings.finish(session, late, make_result())
        assert not endings.requeue(session, late)
    assert selections.status_of(selection_id) == "queued"


@pytest.mark.parametrize("status", ["cancelling", "succeeded"])
def test_only_a_cancelled_or_failed_one_is_resumed(client: TestClient, selections: Selections, status: str) -> None:
    selection_id = selections.in_state(status)
    problem_of(client.post(f"/selections/{selection_id}/resume"), 409, "not-cancelled")
    assert selections.status_of(selection_id) == status


@pytest.mark.parametrize("status", ["queued", "running"])
def test_repeated_resume_changes_nothing(client: TestClient, selections: Selections, status: str) -> None:
    selection_id = selections.in_state(status)
    assert post(client, selection_id, "resume", status=200)["status"] == status
    assert selections.events_of(selection_id, "resumed") == []


def test_resume_keeps_the_checkpoint_alone(client: TestClient, selections: Selections, settings: Settings) -> None:
    claim = selections.cancelling()
    put_checkpoint(selections.database, claim.job_id)
    assert selections.transact(endings.finish, claim, make_result(StopReason.CANCELLED))
    result = client.get(f"/selections/{claim.job_id}/support-examples")
    assert result.headers["Cache-Control"] == "private, no-cache"
    classifier = client.get(f"/selections/{claim.job_id}/classifier")
    assert classifier.headers["Cache-Control"] == "private, no-cache"
    shown = post(client, claim.job_id, "resume")

    gone = ("partial", "stop_reason", "digest", "cancelled_at", "cancel_requested_at")
    assert [shown[name] for name in ("status", *gone)] == ["queued", *(None for _ in gone)]
    problem_of(client.get(f"/selections/{claim.job_id}/support-examples"), 409, "not-finished")
    assert [selections.count(one) for one in ("checkpoints", "reports", "classifiers")] == [1, 0, 0]
    data = {"from_checkpoint": True, "result_deleted": True, "attempt": 1, "error": None}
    assert selections.events_of(claim.job_id, "resumed") == [data]
    assert jobs_in(settings)[-1] == f"{claim.job_id}-2"


def test_selection_cancelled_in_the_queue_starts_from_the_start(client: TestClient, selections: Selections) -> None:
    selection_id = selections.cancelled()
    post(client, selection_id, "resume")
    assert selections.events_of(selection_id, "resumed") == [
        {"from_checkpoint": False, "result_deleted": False, "attempt": 0, "error": None}
    ]
    assert selections.claim(selection_id).attempt == 1


def test_resumed_selection_can_be_cancelled_again(client: TestClient, selections: Selections) -> None:
    selection_id = selections.cancelled()
    post(client, selection_id, "resume")
    assert post(client, selection_id, "cancel")["status"] == "cancelled"
    post(client, selection_id, "resume")
    assert selections.status_of(selection_id) == "queued"
