import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.lifecycle import claims, endings
from app.lifecycle.claims import PackedCheckpoint
from app.store.database import Database
from app.store.tables import StoredCheckpoint
from lens_engine.result import SelectionResult
from lens_engine.run.state import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import make_result, problem_of


@pytest.mark.parametrize(
    ("status", "answer", "result"),
    [
        ("queued", 202, "cancelled"),
        ("running", 202, "cancelling"),
        ("cancelling", 200, "cancelling"),
        ("cancelled", 200, "cancelled"),
    ],
)
def test_cancel_is_taken_in_every_state_it_can_change(
    client: TestClient, selections: Selections, status: str, answer: int, result: str
) -> None:
    selection_id = selections.in_state(status)
    response = client.post(f"/selections/{selection_id}/cancel")
    assert (response.status_code, response.json()["status"]) == (answer, result)
    assert selections.status_of(selection_id) == result


@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_cancel_after_the_end_is_a_conflict(client: TestClient, selections: Selections, status: str) -> None:
    response = client.post(f"/selections/{selections.in_state(status)}/cancel")
    problem_of(response, 409, "already-finished")


def test_cancelled_in_the_queue_keeps_the_best_of_attempts_before(selections: Selections, client: TestClient) -> None:
    best = make_result(StopReason.CANCELLED)
    selection_id = queue_again(selections, selections.database, best)

    assert client.post(f"/selections/{selection_id}/cancel").status_code == 202

    shown = client.get(f"/selections/{selection_id}").json()
    assert (shown["status"], shown["partial"], shown["digest"]) == ("cancelled", True, best.digest)
    result = client.get(f"/selections/{selection_id}/result").json()
    assert [example["row"] for example in result["support_examples"][0]["examples"]] == [3, 0]
    assert selections.count("checkpoints") == 1  # for a resume


@pytest.mark.parametrize("best", [None, {"a": "result that cannot be read"}])
def test_cancelled_in_the_queue_without_a_readable_best_has_no_result(
    selections: Selections, client: TestClient, best: dict[str, str] | None
) -> None:
    selection_id = queue_again(selections, selections.database, None)
    with selections.database.session_scope() as session:
        session.execute(update(StoredCheckpoint).values(best=best))

    assert client.post(f"/selections/{selection_id}/cancel").status_code == 202

    assert client.get(f"/selections/{selection_id}").json()["partial"] is None
    problem_of(client.get(f"/selections/{selection_id}/support-examples"), 409, "no-result")


def queue_again(selections: Selections, database: Database, best: SelectionResult | None) -> str:
    """A selection that was released with a checkpoint, as by a deployment."""
    claim = selections.running()
    with database.session_scope() as session:
        claims.save_checkpoint(session, claim, PackedCheckpoint.of(Checkpoint("f", Phase.SEARCH, 1, "float32"), best))
        endings.requeue(session, claim)
    return claim.job_id


def test_run_that_ends_before_it_sees_the_request_has_succeeded(selections: Selections) -> None:
    claim = selections.cancelling()
    assert selections.transact(endings.finish, claim, make_result(StopReason.COMPLETED))
    assert selections.status_of(claim.job_id) == "succeeded"


@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_ended_selection_is_deleted_with_its_data(client: TestClient, selections: Selections, status: str) -> None:
    selection_id = selections.in_state(status)
    response = client.delete(f"/selections/{selection_id}")
    assert (response.status_code, response.content) == (204, b"")
    problem_of(client.get(f"/selections/{selection_id}"), 404, "not-found")
    problem_of(client.delete(f"/selections/{selection_id}"), 404, "not-found")
    for table in ("jobs", "datasets", "events", "classifiers"):
        assert selections.count(table) == 0


@pytest.mark.parametrize("status", ["queued", "running", "cancelling"])
def test_selection_that_has_not_ended_stays(client: TestClient, selections: Selections, status: str) -> None:
    selection_id = selections.in_state(status)
    problem_of(client.delete(f"/selections/{selection_id}"), 409, "still-running")
    assert selections.status_of(selection_id) == status
