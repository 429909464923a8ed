import time

from app.operations.health import ANSWER_SECONDS
from app.settings import Settings
from tests.e2e.waiting import until
from tests.integration.conftest import MakeClient
from tests.integration.samples import problem_of
from tests.outages import frozen_backends


def test_frozen_postgres_is_told_within_seconds(make_client: MakeClient, settings: Settings) -> None:
    client = make_client(statement_timeout_seconds=10)
    assert client.get("/readyz").status_code == 200
    with frozen_backends(settings):
        for _ in range(2):
            started = time.monotonic()
            body = problem_of(client.get("/readyz"), 503, "unavailable")
            assert [error["pointer"] for error in body["errors"]] == ["/checks/database", "/checks/migrations"]
            assert ANSWER_SECONDS <= time.monotonic() - started < 10
    until(lambda: client.get("/readyz").status_code == 200, "Postgres answers again")
