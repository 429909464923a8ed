"""The role that docker-compose.yml makes for the service: no superuser, and enough for everything the service does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from sqlalchemy import create_engine, make_url, pool, text
from starlette.testclient import TestClient

from app.main import create_app
from app.schema import upgrade_schema
from app.settings import Settings
from lens_cli.service.embedded import EmbeddedServers
from tests.conftest import make_settings
from tests.integration.samples import make_submission
from worker.startup import check_schema

ROLE = "lens_plain"
PASSWORD = "0123456789abcdef"


@pytest.fixture
def plain(servers: EmbeddedServers) -> Iterator[Settings]:
    """Settings of a new database, as the compose file makes it."""
    compose = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text("utf-8"))
    statements = compose["configs"]["database"]["content"].replace("${POSTGRES_PASSWORD:?set it in .env}", PASSWORD)
    own = [line for line in statements.splitlines() if "ROLE postgres" not in line]  # that of the test run stays
    _run(servers, *(line.replace("lens", ROLE) for line in own))
    admin = make_url(make_settings(servers, ROLE).database_url)
    url = admin.set(username=ROLE, password=PASSWORD).render_as_string(hide_password=False)
    yield Settings(database_url=url, redis_url=servers.redis_url)
    _run(servers, f"DROP DATABASE {ROLE} WITH (FORCE)", f"DROP ROLE {ROLE}")


def test_role_of_the_compose_file_migrates_and_serves(plain: Settings, servers: EmbeddedServers) -> None:
    upgrade_schema(plain)
    with TestClient(create_app(plain), base_url="http://localhost") as client:
        assert client.post("/selections", json=make_submission()).status_code == 202
    check_schema(plain)
    query = f"SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = '{ROLE}'"
    assert _run(servers, query) == [False]


def _run(servers: EmbeddedServers, *statements: str) -> list[object]:
    engine = create_engine(servers.database_url, poolclass=pool.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        results = [connection.execute(text(statement)) for statement in statements]
        return [result.scalar() for result in results if result.returns_rows]
