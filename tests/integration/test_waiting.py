"""The job that a worker claims, whichever job woke it: of the owner with the fewest running ones, the oldest."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim
from app.settings import Settings
from app.store.database import Database
from app.store.tables import Job
from tests.integration.conftest import MakeClient, Selections, transact

Take = Callable[..., Claim | None]


@pytest.fixture
def take(database: Database, settings: Settings) -> Take:
    """Claim as a free worker does."""

    def run(settings: Settings = settings) -> Claim | None:
        return transact(database, claims.claim_next, settings)

    return run


def queue_for(selections: Selections, owner: str) -> str:
    """A job of another owner."""
    job_id = selections.queued()
    selections.sql("UPDATE jobs SET owner_id = :owner WHERE id = :id", id=job_id, owner=owner)
    return job_id


def end(selections: Selections, claim: Claim | None) -> str:
    assert claim is not None
    return selections.fail(claim)


def test_oldest_job_goes_first_whoever_had_it_before(selections: Selections, take: Take) -> None:
    jobs = [queue_for(selections, owner) for owner in ("a", "a", "b", "a")]
    assert selections.transact(endings.requeue, take())  # it waits as long as before
    assert [end(selections, take()) for _ in range(4)] == jobs
    assert take() is None


def test_owner_with_fewer_running_goes_first(selections: Selections, take: Take) -> None:
    flood = [selections.queued() for _ in range(4)]
    assert [take().job_id for _ in range(2)] == flood[:2]  # type: ignore[union-attr]
    guest = [queue_for(selections, "guest") for _ in range(3)]
    assert [take().job_id for _ in range(4)] == [*guest[:2], flood[2], guest[2]]  # type: ignore[union-attr]


def test_job_that_may_not_start_holds_nobody(selections: Selections, take: Take) -> None:
    delayed, other = selections.queued(), selections.queued()
    selections.sql("UPDATE jobs SET not_before = now() + interval '1h' WHERE id = :id", id=delayed)
    assert end(selections, take()) == other
    assert take() is None


def test_job_that_another_transaction_holds_is_passed(selections: Selections, database: Database, take: Take) -> None:
    held, own, other = selections.queued(), selections.queued(), queue_for(selections, "guest")
    with database.sessions() as session, session.begin():
        session.execute(select(Job.id).where(Job.id == held).with_for_update())
        assert [take().job_id for _ in range(2)] == [own, other]  # type: ignore[union-attr]
        assert take() is None
    assert end(selections, take()) == held


def test_worker_takes_its_own_jobs(make_client: MakeClient, database: Database, settings: Settings, take: Take) -> None:
    changes: dict[str, Any] = {"endpoints": {"served": {"kind": "vllm", "url": "http://h", "model": "m"}}}
    jobs = Selections(make_client(**changes), database)
    served, loaded = jobs.queued(model="served"), jobs.queued(model=settings.default_model)

    def of(**more: Any) -> Settings:
        return Settings.model_validate({**settings.model_dump(), **changes, **more})

    assert end(jobs, take(of())) == loaded
    assert take(of()) is None
    assert end(jobs, take(of(worker_models="endpoints"))) == served


def test_worker_of_servers_takes_all_jobs_where_no_model_is_loaded(
    selections: Selections, settings: Settings, take: Take
) -> None:
    job_id = selections.queued()
    endpoint = {"kind": "vllm", "url": "http://h", "model": "m"}
    alone = {"allowed_models": {}, "endpoints": {"served": endpoint}, "default_model": "served"}
    alone = {**settings.model_dump(), **alone, "worker_models": "endpoints"}
    assert end(selections, take(Settings.model_validate(alone))) == job_id
