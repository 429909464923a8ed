"""Errors of Postgres that are outages, whatever the driver calls them."""

import time

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from app.settings import Settings
from app.store.database import Database, opened_database
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import make_submission, problem_of
from tests.outages import read_only


def test_server_that_only_reads_is_away(selections: Selections, settings: Settings) -> None:
    assert selections.queued()
    with read_only(settings):
        response = selections.client.post("/selections", json=make_submission())
    problem_of(response, 503, "unavailable")
    assert response.headers["retry-after"] == "5"
    assert selections.client.post("/selections", json=make_submission()).status_code == 202


def test_session_that_was_cut_off_while_idle_is_away(settings: Settings) -> None:
    with opened_database(settings) as database:
        with pytest.raises(OperationalError, match="idle-in-transaction"):
            idle_too_long(database)
        assert run_sql(database, "SELECT 1") == 1


def test_connection_that_was_cut_while_idle_is_replaced_unseen(settings: Settings, database: Database) -> None:
    with opened_database(settings) as pooled:
        first = run_sql(pooled, "SELECT pg_backend_pid()")
        run_sql(database, "SELECT pg_terminate_backend(:pid)", pid=first)
        assert run_sql(pooled, "SELECT pg_backend_pid()") != first


def idle_too_long(database: Database) -> None:
    with database.session_scope() as session:
        session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 50"))
        time.sleep(0.5)
        session.execute(text("SELECT 1"))
