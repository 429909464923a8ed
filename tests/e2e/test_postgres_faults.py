"""Postgres crashes while a selection is computed."""

import contextlib
import os
import signal

import httpx
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from tests.e2e.stack import Stack
from tests.e2e.waiting import until

_SOMEBODY = "SELECT pid FROM pg_stat_activity WHERE application_name = 'lens' AND pid <> pg_backend_pid() LIMIT 1"


def test_a_crash_of_postgres_costs_no_selection(lens: Stack) -> None:
    worker, selection_id = lens.hold_in_the_search()

    with lens.database.engine.connect() as session:
        os.kill(lens.scalar(_SOMEBODY), signal.SIGKILL)  # Postgres cuts every session and recovers
        until(lambda: _is_cut(session), "every session is cut")
        session.invalidate()
    lens.let_go()
    until(lambda: _is_ready(lens), "the service answers again")

    lens.check_undisturbed(selection_id, attempt=1, crashes=0)
    assert worker.exit_status is None


def _is_cut(session: Connection) -> bool:
    try:
        session.exec_driver_sql("SELECT 1")
    except DBAPIError:
        return True
    return False


def _is_ready(lens: Stack) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return lens.client.get("/readyz").status_code == 200
    return False
