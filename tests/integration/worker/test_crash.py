"""What the parent does after a work-horse was killed."""

from dataclasses import replace
from typing import Any

import pytest
from redis import Redis
from rq.job import Job

from app.lifecycle import claims
from app.lifecycle.claims import Claim, PackedCheckpoint
from app.settings import Settings
from app.store.queue import RUN_JOB, JobId
from lens_engine.run.state import Checkpoint
from lens_engine.types import Phase, StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import make_result
from worker.parent import REPORT, describe_death, handle_crash

KILLED = 9
UNREACHABLE = "postgresql+psycopg://lens@/lens?host=/nonexistent"


def job_of(claim: Claim, redis: Redis) -> Job:
    """The job of a work-horse that has told its parent of its claim."""
    REPORT.claim = claim
    return Job.create(RUN_JOB, id=str(JobId(claim.job_id, 7)), timeout=5, connection=redis)


def test_selection_of_a_killed_horse_is_queued_again(selections: Selections, settings: Settings, redis: Redis) -> None:
    claim = selections.running()

    handle_crash(settings, job_of(claim, redis), 1, KILLED, None)

    assert selections.status_of(claim.job_id) == "queued"
    assert selections.sql("SELECT crashes FROM jobs") == 1


def test_selection_that_the_system_kills_each_time_names_memory(
    selections: Selections, settings: Settings, redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    claim = selections.running()
    selections.sql(f"UPDATE jobs SET crashes = {settings.max_attempts - 1}")

    handle_crash(settings, job_of(claim, redis), 1, KILLED, None)

    error = selections.client.get(f"/selections/{claim.job_id}").json()["error"]
    assert error["code"] == "worker-crashed"
    assert "the system killed its process, usually for memory" in error["detail"]
    assert "WORKER_MEMORY with Compose, MemoryMax with systemd" in caplog.text


def test_other_deaths_name_the_signal_or_the_exit_code() -> None:
    assert describe_death(11) == "its process was ended by signal 11"
    assert describe_death(3 << 8) == "its process ended with exit code 3"


@pytest.mark.parametrize("change", [{"attempt": 0}, {"holder": "of a time before a restore"}])
def test_death_of_a_zombie_keeps_the_next_lease(
    selections: Selections, settings: Settings, redis: Redis, change: dict[str, Any]
) -> None:
    successor = selections.running()

    handle_crash(settings, job_of(replace(successor, **change), redis), 1, KILLED, None)

    assert selections.status_of(successor.job_id) == "running"


def test_run_killed_at_its_time_limit_fails(selections: Selections, settings: Settings, redis: Redis) -> None:
    claim = selections.running()

    handle_crash(settings, job_of(claim, redis), None, None, None)

    selection = selections.client.get(f"/selections/{claim.job_id}").json()
    assert selection["status"] == "failed"
    assert selection["error"]["code"] == "timeout"
    assert selection["error"]["instance"] == f"/selections/{claim.job_id}"


def test_run_killed_at_its_time_limit_keeps_its_best(selections: Selections, settings: Settings, redis: Redis) -> None:
    claim = selections.running()
    best = make_result(stop_reason=StopReason.CANCELLED)
    with selections.database.session_scope() as session:
        checkpoint = PackedCheckpoint.of(Checkpoint("f", Phase.SEARCH, 1, "float32"), best)
        claims.save_checkpoint(session, claim, checkpoint)

    handle_crash(settings, job_of(claim, redis), None, None, None)

    path = f"/selections/{claim.job_id}"
    selection = selections.client.get(path).json()
    assert (selection["status"], selection["partial"], selection["stop_reason"]) == ("succeeded", True, "budget")
    result = selections.client.get(f"{path}/result").json()
    assert result["warnings"][-1].startswith("the run was killed at its time limit of 5 s")
    assert result["digest"] == selection["digest"] != best.digest


def test_outage_of_postgres_ends_no_worker(settings: Settings, redis: Redis, caplog: pytest.LogCaptureFixture) -> None:
    unreachable = settings.model_copy(update={"database_url": UNREACHABLE})

    handle_crash(unreachable, job_of(Claim("sel_1", 1), redis), 1, KILLED, None)

    assert "its lease will run out" in caplog.text


def test_horse_without_a_claim_costs_nobody_a_lease(selections: Selections, settings: Settings, redis: Redis) -> None:
    claim = selections.running()
    job = job_of(claim, redis)
    REPORT.clear()

    handle_crash(settings, job, 1, KILLED, None)

    assert selections.status_of(claim.job_id) == "running"
