"""Whatever happens in whatever order, the history written by the database is a path of the state machine."""

import os
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from app.ids import path_of
from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim
from app.lifecycle.endings import Crash
from app.settings import Settings
from app.store.database import Database
from app.store.tables import TERMINAL, Event, Status
from tests.integration.conftest import Selections, Sweep
from tests.integration.samples import make_result
from tests.moves import can_move

NUM_RACES = 40


def history(database: Database, selection_id: str) -> list[Status]:
    query = select(Event.data["to"].astext).where(Event.job_id == selection_id, Event.type == "status")
    with database.session_scope() as session:
        return [Status(status) for status in session.scalars(query.order_by(Event.id))]


def assert_is_a_path(statuses: list[Status]) -> None:
    assert statuses[0] is Status.QUEUED
    assert all(can_move(before, after) for before, after in pairwise(statuses)), statuses


def print_seed(number: int) -> str:
    """A new seed in every run of the tests. pytest shows it with a failure; LENS_TEST_SEED repeats it."""
    seed = f"{os.environ.get('LENS_TEST_SEED') or random.randrange(10**9)}"
    print(f"LENS_TEST_SEED={seed}, number {number}")  # noqa: T201
    return f"{seed}-{number}"


@pytest.mark.parametrize("number", range(8))
def test_any_order_is_a_path_to_an_end(selections: Selections, sweep: Sweep, settings: Settings, number: int) -> None:
    chance = random.Random(print_seed(number))
    job_id = selections.queued()
    path = path_of(job_id)
    held: list[Claim] = []

    def claim() -> None:
        selections.sql("UPDATE jobs SET not_before = now()")
        held.extend(filter(None, [selections.transact(claims.claim_job, job_id, 60)]))

    def write(act: Callable[..., object], *values: object) -> None:
        if held:
            selections.transact(act, chance.choice(held), *values)

    acts: list[tuple[int, Callable[[], object]]] = [
        (6, claim),
        (4, lambda: write(endings.requeue)),
        (4, lambda: write(partial(endings.requeue, crash=Crash.died(settings)))),
        (4, lambda: write(claims.renew_lease, 60)),
        (6, sweep),
        (1, lambda: write(endings.finish, make_result())),
        (1, lambda: write(endings.finish_cancelled)),
        (1, lambda: write(endings.fail, {"title": "x"})),
        (1, lambda: selections.client.post(f"{path}/cancel")),
    ]
    for _ in range(40):
        chance.choices([act for _, act in acts], [weight for weight, _ in acts])[0]()
    statuses = history(selections.database, job_id)
    assert_is_a_path(statuses)
    assert statuses[-1] == selections.client.get(path).json()["status"]
    assert selections.count("reports") == (statuses[-1] is Status.SUCCEEDED)


def test_cancels_racing_claims_and_ends_leave_one_end(client: TestClient, selections: Selections) -> None:
    chance = random.Random(print_seed(0))
    made = [selections.queued() for _ in range(NUM_RACES)]

    def run(selection_id: str) -> bool:
        claim = selections.transact(claims.claim_job, selection_id, 60)
        if claim is None:
            return False
        assert selections.transact(endings.finish, claim, make_result())
        return True

    def cancel(selection_id: str) -> bool:
        return client.post(f"/selections/{selection_id}/cancel").status_code in {200, 202}

    acts = [(act, selection_id) for selection_id in made for act in (run, run, cancel, cancel)]
    for first in range(0, len(acts), 4):
        acts[first : first + 4] = chance.sample(acts[first : first + 4], 4)
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda planned: (planned[0] is run, planned[1], planned[0](planned[1])), acts))
    runs = Counter(selection_id for is_run, selection_id, has_run in outcomes if is_run and has_run)
    for selection_id in made:
        statuses = history(selections.database, selection_id)
        assert_is_a_path(statuses)
        assert statuses[-1] in TERMINAL
        assert [status in TERMINAL for status in statuses].count(True) == 1
        assert runs[selection_id] == statuses.count(Status.RUNNING) <= 1
