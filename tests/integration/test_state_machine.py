"""Whatever happens in whatever order, the history written by the database is a path of the state machine."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from sqlalchemy import select, text
from starlette.testclient import TestClient

from app.database import Database
from app.models import Event, Report
from app.queue import JobQueue
from app.selections import claims
from app.selections.claims import Claim
from app.selections.states import TERMINAL, Status, can_move
from app.selections.sweep import sweep
from app.settings import Settings
from tests.integration.conftest import Selections
from tests.integration.samples import make_result, make_submission


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A lease shorter than the time for which Postgres has run. Otherwise the sweep waits for living workers."""
    return settings.model_copy(update={"lease_seconds": 0.01, "lease_renew_seconds": 0.005})


def history(database: Database, selection_id: str) -> list[Status]:
    query = select(Event.data["to"].astext).where(Event.selection_id == selection_id, Event.type == "status")
    with database.session_scope() as session:
        return [Status(status) for status in session.scalars(query.order_by(Event.id))]


def assert_is_a_path(statuses: list[Status]) -> None:
    assert statuses[0] is Status.QUEUED
    assert all(can_move(before, after) for before, after in pairwise(statuses)), statuses


@pytest.mark.parametrize("seed", range(8))
def test_any_order_of_events_is_a_path_to_an_end(
    selections: Selections, database: Database, queue: JobQueue, settings: Settings, seed: int
) -> None:
    chance = random.Random(seed)
    selection_id = selections.queued()
    held: list[Claim] = []

    def claim() -> None:
        with database.session_scope() as session:
            session.execute(text("UPDATE selections SET not_before = now()"))
        with database.session_scope() as session:
            held.extend(filter(None, [claims.claim_selection(session, selection_id, 60)]))

    def write(act: Callable[..., object], *values: object) -> None:
        if held:
            with database.session_scope() as session:
                act(session, chance.choice(held), *values)

    acts: list[tuple[int, Callable[[], object]]] = [
        (6, claim),
        (4, lambda: write(claims.release)),
        (4, lambda: write(claims.expire_lease)),
        (4, lambda: write(claims.renew_lease, 60)),
        (6, lambda: sweep(database, queue, settings)),
        (1, lambda: write(claims.finish, make_result())),
        (1, lambda: write(claims.finish_cancelled)),
        (1, lambda: write(claims.fail, {"title": "x"})),
        (1, lambda: selections.client.post(f"/selections/{selection_id}/cancel")),
    ]
    for _ in range(40):
        chance.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()
    statuses = history(database, selection_id)
    assert_is_a_path(statuses)
    assert statuses[-1] == selections.status_of(selection_id)
    with database.session_scope() as session:
        has_report = session.get(Report, selection_id) is not None
    assert has_report == (statuses[-1] is Status.SUCCEEDED)


def test_cancels_racing_claims_and_ends_leave_one_end(
    client: TestClient, selections: Selections, database: Database
) -> None:
    made = [selections.queued() for _ in range(20)]

    def run(selection_id: str) -> None:
        with database.session_scope() as session:
            claim = claims.claim_selection(session, selection_id, 60)
        if claim is not None:
            with database.session_scope() as session:
                assert claims.finish(session, claim, make_result())

    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(act)
            for selection_id in made
            for act in (
                lambda id_=selection_id: run(id_),
                lambda id_=selection_id: client.post(f"/selections/{id_}/cancel"),
            )
        ]
        for future in futures:
            future.result()
    for selection_id in made:
        statuses = history(database, selection_id)
        assert_is_a_path(statuses)
        assert statuses[-1] in TERMINAL
        assert [status in TERMINAL for status in statuses].count(True) == 1


def test_running_application_sweeps_by_itself(make_client: Callable[..., TestClient], database: Database) -> None:
    with make_client(sweep_interval_seconds=0.05, retry_backoff_seconds=0) as client:
        selection_id = client.post("/selections", json=make_submission()).json()["id"]
        with database.session_scope() as session:
            assert claims.claim_selection(session, selection_id, -1) is not None
        deadline = time.monotonic() + 20
        while client.get(f"/selections/{selection_id}").json()["status"] != "queued":
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert history(database, selection_id) == [Status.QUEUED, Status.RUNNING, Status.QUEUED]
