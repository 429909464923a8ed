"""Factories of the service's tests: clients, submissions, and selections in each state."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import pytest
from fastapi import FastAPI
from redis import Redis
from sqlalchemy import Engine, event, text
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient

from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim
from app.lifecycle.sweep import Settling, SweepReport
from app.lifecycle.sweep import sweep as sweep_once
from app.main import close_app, create_app
from app.selections.reader import Reader
from app.settings import Settings
from app.store.database import Database, opened_database
from app.store.queue import JobQueue
from app.store.tables import Job
from lens_engine.result import SelectionResult
from tests.api_keys import make_keys
from tests.integration.refused_submissions import Intake
from tests.integration.samples import make_bag_of_words, make_result, make_submission
from worker.jobs import claim_and_execute

MakeClient = Callable[..., TestClient]
Publish = Callable[[str], str]
Sweep = Callable[..., SweepReport]
T = TypeVar("T")


def execute_job(job_id: str, settings: Settings) -> bool:
    """Run this job, whoever's turn it is. Returns False if it is running already or finished."""
    return claim_and_execute(settings, lambda session: claims.claim_job(session, job_id, settings.lease_seconds))


@pytest.fixture(scope="package")
def kept_database(migrated: Settings) -> Iterator[Database]:
    with opened_database(migrated, pool_size=4) as made:
        yield made


@pytest.fixture
def database(settings: Settings, kept_database: Database) -> Database:  # noqa: ARG001 - `settings` empties it
    return kept_database


@contextmanager
def refusing_rows(database: Database, table: str, check: str) -> Iterator[None]:
    """Have Postgres refuse each new row that the check does not pass. Its message repeats the row."""
    run_sql(database, f"ALTER TABLE {table} ADD CONSTRAINT never CHECK ({check}) NOT VALID")
    try:
        yield
    finally:
        run_sql(database, f"ALTER TABLE {table} DROP CONSTRAINT never")


def run_sql(database: Database, statement: str, **values: object) -> Any:
    """Run one statement in a transaction of its own. Returns the first value of its answer, if it has one."""
    with database.session_scope() as session:
        answer = session.execute(text(statement), values)
        return answer.scalar() if answer.returns_rows else None


def count_rows(database: Database, table: str) -> int:
    return int(run_sql(database, f"SELECT count(*) FROM {table}"))


def transact(database: Database, act: Callable[..., T], *values: Any, **options: Any) -> T:
    """Call a function with a session in a transaction of its own. Returns what it returns."""
    with database.session_scope() as session:
        return act(session, *values, **options)


@contextmanager
def asked_of(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """The statements within the block, with their parameters."""
    found: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        found.append((statement, values))

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(engine, "before_cursor_execute", note)


def write_revision(settings: Settings, revision: str) -> None:
    """Make the schema one of this revision."""
    with opened_database(settings) as database:
        run_sql(database, "UPDATE alembic_version SET version_num = :revision", revision=revision)


@pytest.fixture
def queue(settings: Settings) -> Iterator[JobQueue]:
    with closing(JobQueue(settings)) as made:
        yield made


@pytest.fixture
def redis(settings: Settings) -> Iterator[Redis]:
    with Redis.from_url(settings.redis_url) as client:
        yield client


@cache
def routes_of_the_first_app() -> list[BaseRoute]:
    """Routes that hold nothing of an app. FastAPI builds them at the first request, in a tenth of a second."""
    return create_app(Settings(_env_file=None)).router.routes


def share_routes(app: FastAPI) -> None:
    """Give an app the built routes of its routers, and leave it its own pages of documentation."""
    for place, route in enumerate(routes_of_the_first_app()):
        if not isinstance(route, Route | Mount):
            app.router.routes[place] = route


class LentReader:
    """Leaves the process to the next app: it imports for seconds."""

    def __init__(self, kept: Reader) -> None:
        self.run = kept.run

    def close(self) -> None:
        pass


@pytest.fixture(scope="package")
def kept_reader(migrated: Settings) -> Iterator[Reader | None]:
    """For all apps with the usual settings; None for tests of the reader, whose apps start their own."""
    with closing(Reader(migrated)) as made:
        yield made


@pytest.fixture
def make_client(settings: Settings, kept_reader: Reader | None) -> Iterator[MakeClient]:
    """Clients of apps that do not sweep; settings may be changed."""
    made: list[TestClient] = []

    def make(**changes: Any) -> TestClient:
        app = create_app(Settings.model_validate({**settings.model_dump(), **changes}))
        if kept_reader is not None and not changes:
            app.state.reader = LentReader(kept_reader)
        share_routes(app)
        made.append(TestClient(app, base_url="http://localhost", raise_server_exceptions=False))
        return made[-1]

    yield make
    for client in made:
        close_app(client.app)
        client.close()


@pytest.fixture
def make_guarded(make_client: MakeClient, database: Database) -> MakeClient:
    """Clients of apps that ask for keys. The owners that are named have one."""

    def make(*owners: str, **changes: Any) -> TestClient:
        make_keys(database, *owners)
        return make_client(require_keys=True, **changes)

    return make


@pytest.fixture
def client(make_client: MakeClient) -> TestClient:
    return make_client()


@pytest.fixture
def intake(client: TestClient, database: Database, settings: Settings) -> Intake:
    return Intake(client, database, settings)


@dataclass(frozen=True)
class Selections:
    """Brings selections into a state, as a worker would."""

    client: TestClient
    database: Database

    def queued(self, **spec: Any) -> str:
        response = self.client.post("/selections", json=make_submission(**spec))
        assert response.status_code == 202, response.text
        return str(response.json()["id"])

    def running(self, lease_seconds: float = 60) -> Claim:
        return self.claim(self.queued(), lease_seconds)

    def sql(self, statement: str, **values: object) -> Any:
        return run_sql(self.database, statement, **values)

    def count(self, table: str) -> int:
        return count_rows(self.database, table)

    def transact(self, act: Callable[..., T], *values: Any, **options: Any) -> T:
        return transact(self.database, act, *values, **options)

    def claim(self, selection_id: str, lease_seconds: float = 60) -> Claim:
        claim = self.transact(claims.claim_job, selection_id, lease_seconds)
        assert claim is not None
        return claim

    def cancelling(self, lease_seconds: float = 60) -> Claim:
        claim = self.running(lease_seconds)
        assert self.client.post(f"/selections/{claim.job_id}/cancel").status_code == 202
        return claim

    def succeeded(self, result: SelectionResult | None = None) -> str:
        return self.finish(self.running(), result)

    def of_words(self) -> str:
        """A finished selection whose classifier counts words."""
        return self.succeeded(make_result(classifier=make_bag_of_words()))

    def failed(self) -> str:
        return self.fail(self.running())

    def cancelled(self) -> str:
        selection_id = self.queued()
        assert self.client.post(f"/selections/{selection_id}/cancel").status_code == 202
        return selection_id

    def finish(self, claim: Claim, result: SelectionResult | None = None) -> str:
        assert self.transact(endings.finish, claim, result or make_result())
        return claim.job_id

    def fail(self, claim: Claim) -> str:
        assert self.transact(endings.fail, claim, {"code": "non-finite"})
        return claim.job_id

    def in_state(self, status: str) -> str:
        made = getattr(self, status)()
        return made.job_id if isinstance(made, Claim) else str(made)

    def events_of(self, selection_id: str, kind: str) -> list[dict[str, Any]]:
        """The data of the events of one kind, oldest first."""
        events = self.client.get(f"/selections/{selection_id}/events").json()["items"]
        return [event["data"] for event in events if event["type"] == kind]

    def read(self, selection_id: str) -> Job:
        with self.database.session_scope() as session:
            return session.get_one(Job, selection_id)

    def status_of(self, selection_id: str) -> str:
        return str(self.client.get(f"/selections/{selection_id}").json()["status"])


@pytest.fixture
def selections(client: TestClient, database: Database) -> Selections:
    return Selections(client, database)


@pytest.fixture
def sweep(database: Database, queue: JobQueue, settings: Settings) -> Sweep:
    """Sweep once; a queue, settings and a memory of outages may take the place of the usual ones."""
    usual = {"database": database, "queue": queue, "settings": settings, "settling": Settling(0)}
    return lambda **given: sweep_once(**{**usual, **given})


@pytest.fixture(params=["selection", "prompt"])
def publish(request: pytest.FixtureRequest, client: TestClient) -> Publish:
    """From a selection with a result to the path of what production reads: its own, or that of a prompt."""

    def path_of(selection_id: str) -> str:
        if request.param == "selection":
            return f"/selections/{selection_id}"
        body, headers = {"selection_id": selection_id}, {"If-None-Match": "*"}
        put = client.put("/prompts/triage", json=body, headers=headers)
        assert put.status_code == 201, put.text
        return "/prompts/triage"

    return path_of
