"""Sends bad submissions, and holds every refusal to one standard: it says where, and it leaves nothing behind."""

import json
from dataclasses import dataclass
from typing import Any

from redis import Redis
from sqlalchemy import text
from starlette.testclient import TestClient

from app.settings import Settings
from app.store.database import Database
from tests.integration.samples import make_rows, make_spec, pointers_of, problem_of
from tests.unit.lens_engine.files.dataset_uploads import WRITERS, Row, to_mappings

CANARY = "canary-7f3a"
"""In every text and in the name of every file that is sent; never in an answer."""

GOOD_ROWS: list[Row] = [(f"{CANARY} {row['text']}", row["label"]) for row in make_rows()]

_TABLES = text("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'")


@dataclass(frozen=True)
class Refusal:
    """What must be answered; no pointers when the body could not be read at all."""

    code: str
    pointers: tuple[str, ...] = ()
    status: int = 422


@dataclass(frozen=True)
class Intake:
    """The service as a client sees it, and its stores as an operator does."""

    client: TestClient
    database: Database
    settings: Settings

    def send_file(self, dataset: bytes, test: bytes | None = None, **spec: Any) -> Any:
        parts = {"dataset": (f"{CANARY}.csv", dataset)}
        if test is not None:
            parts["test"] = (f"{CANARY}.csv", test)
        return self.client.post("/selections", files=parts, data={"spec": json.dumps(make_spec(**spec))})

    def send_rows(self, rows: list[Row], written_as: str, **spec: Any) -> Any:
        if written_as == "inline":
            return self.send_json({"spec": make_spec(**spec), "examples": to_mappings(rows)})
        return self.send_file(WRITERS[written_as](rows), **spec)

    def send_json(self, body: object) -> Any:
        """Written with escapes, so that it may hold half a surrogate pair."""
        return self.client.post("/selections", content=json.dumps(body), headers={"Content-Type": "application/json"})

    def assert_refused(self, response: Any, expected: Refusal) -> dict[str, Any]:
        body = problem_of(response, expected.status, expected.code)
        assert tuple(pointers_of(body)) == expected.pointers
        assert all(error["detail"] for error in body["errors"])
        assert CANARY not in response.text
        self.assert_nothing_kept()
        return body

    def assert_nothing_kept(self) -> None:
        assert self._count_rows() == {}
        assert self.settings.spool_dir is not None
        assert list(self.settings.spool_dir.iterdir()) == []
        with Redis.from_url(self.settings.redis_url) as redis:
            assert redis.keys("rq:*") == []

    def _count_rows(self) -> dict[str, int]:
        """Rows of each table that has any; the tables are those of the database, not those of the code."""
        with self.database.session_scope() as session:
            tables = session.scalars(_TABLES).all()
            counts = {table: session.scalar(text(f'SELECT count(*) FROM "{table}"')) for table in tables}
        assert len(counts) > 5
        return {table: count for table, count in counts.items() if count}
