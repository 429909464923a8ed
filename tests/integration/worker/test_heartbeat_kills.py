"""A work-horse that does not heed its heartbeat is killed by it."""

import signal
from pathlib import Path

import pytest
from sqlalchemy import text

from app.database import Database
from app.lifecycle import claims
from app.settings import Settings
from tests.e2e.processes import Process
from tests.e2e.stack import environment_of
from tests.integration.conftest import Selections

_DEAF = """
import sys, time
from functools import partial
from app.database import create_database
from app.lifecycle.claims import Claim, give_up_stalled
from app.settings import Settings
from worker.heartbeat import Heartbeat
from worker.progress import RunMonitor
from worker.rhythm import Rhythm

settings = Settings()
claim = Claim(sys.argv[1], int(sys.argv[2]))
give_up = partial(give_up_stalled, settings=settings)
Heartbeat(create_database(settings, pool_size=1), claim, RunMonitor(), Rhythm.of(settings), give_up=give_up).start()
time.sleep(30)
"""
"""A run that computes on, whatever its monitor says."""


@pytest.mark.parametrize(("stop_grace", "stall"), [(0.5, 60), (60, 1.5)], ids=["lost lease", "no progress"])
def test_deaf_run_is_killed(
    selections: Selections, database: Database, settings: Settings, tmp_path: Path, stop_grace: float, stall: float
) -> None:
    claim = selections.running()
    if stop_grace < stall:
        with database.session_scope() as session:
            assert claims.release(session, claim)
            session.execute(text("UPDATE selections SET not_before = now()"))
        selections.claim(claim.selection_id)
    environment = environment_of(
        {
            "database_url": settings.database_url,
            "redis_url": settings.redis_url,
            "lease_seconds": 2,
            "lease_renew_seconds": 0.2,
            "stop_grace_seconds": stop_grace,
            "stall_seconds": stall,
        }
    )
    arguments = ["-c", _DEAF, claim.selection_id, str(claim.attempt)]

    process = Process("deaf run", arguments, environment, tmp_path / "run.log")

    assert process.wait(20) == -signal.SIGKILL, process.log()
    stalls = selections.events_of(claim.selection_id, "stalled")
    assert stalls == ([{"seconds": 1.5, "attempt": 1}] if stall < stop_grace else [])
