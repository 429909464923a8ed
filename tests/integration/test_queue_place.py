"""What the poll of a queued selection tells: its place in the queue, and the number of workers."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from app.lifecycle import endings
from app.lifecycle.claims import find_place
from app.settings import Settings
from app.store.database import Database
from tests.integration.conftest import MakeClient, Selections
from worker.process import create_worker


@pytest.fixture
def worker_is_registered(settings: Settings) -> Iterator[None]:
    worker = create_worker(settings)
    worker.register_birth()
    yield
    worker.connection.close()


def place_of(client: TestClient, selection_id: str) -> object:
    return client.get(f"/selections/{selection_id}").json()["queue"]


def test_places_are_in_the_order_of_claims(client: TestClient, selections: Selections, settings: Settings) -> None:
    running = selections.running()
    own = [selections.queued() for _ in range(2)]
    others = [selections.queued() for _ in range(2)]
    change = "UPDATE jobs SET owner_id = 'guest' WHERE id = ANY(:ids)"
    selections.sql(change, ids=others)  # the guest has nothing running
    assert [place_of(client, id_)["position"] for id_ in own] == [3, 4]  # type: ignore[index]

    with selections.database.session_scope() as session:
        assert [find_place(session, id_, settings)[0] for id_ in others] == [1, 2]
        endings.fail(session, running, {"code": "non-finite"})
    assert [place_of(client, id_)["position"] for id_ in own] == [1, 2]  # type: ignore[index]


def test_selection_that_may_not_start_has_no_place_and_takes_none(client: TestClient, selections: Selections) -> None:
    first, second = (selections.queued() for _ in range(2))
    selections.sql("UPDATE jobs SET not_before = now() + interval '1h' WHERE id = :id", id=first)

    assert [place_of(client, id_)["position"] for id_ in (first, second)] == [None, 1]  # type: ignore[index]


@pytest.mark.parametrize("status", ["running", "cancelling", "cancelled", "succeeded", "failed"])
def test_only_a_queued_selection_has_a_place(client: TestClient, selections: Selections, status: str) -> None:
    assert place_of(client, selections.in_state(status)) is None


@pytest.mark.usefixtures("worker_is_registered")
def test_living_workers_are_counted(client: TestClient, selections: Selections) -> None:
    assert place_of(client, selections.queued()) == {"position": 1, "workers": 1}
    assert client.get("/readyz").json()["checks"]["workers"] == "ok"


@pytest.mark.usefixtures("worker_is_registered")
def test_jobs_of_servers_have_their_own_places(make_client: MakeClient, database: Database, settings: Settings) -> None:
    endpoint = {"kind": "vllm", "url": "http://h", "model": "m"}
    client = make_client(endpoints={"served": endpoint})
    jobs = Selections(client, database)
    ids = [jobs.queued(model=model) for model in ("served", settings.default_model, "served")]
    found = [place_of(client, id_) for id_ in ids]
    assert [(place["position"], place["workers"]) for place in found] == [(1, 0), (1, 1), (2, 0)]  # type: ignore[index]
    assert client.get("/readyz").json()["checks"]["workers"].startswith("0 with LENS_WORKER_MODELS=endpoints: ")


def test_workers_are_unknown_without_redis(make_client: MakeClient, selections: Selections) -> None:
    client = make_client(redis_url="unix:///nowhere.sock")
    assert place_of(client, selections.queued()) == {"position": 1, "workers": None}
    assert client.get("/readyz").json()["checks"]["workers"] == "ok"
