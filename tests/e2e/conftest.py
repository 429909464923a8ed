"""One API over real servers for all tests; workers are each test's own."""

import contextlib
from collections.abc import Iterator

import httpx
import pytest
from redis import Redis
from sqlalchemy import text

from app.database import create_database
from app.schema import upgrade_schema
from app.settings import Settings
from lens_cli.service.embedded import EmbeddedServers
from lens_engine.testing import tiny_causal_lm
from tests.e2e.processes import Process, status_at
from tests.e2e.scorers import HELD, HOLD_VARIABLE, asked_path
from tests.e2e.stack import Stack, environment_of
from tests.e2e.waiting import until
from tests.endpoints.double import MODEL
from tests.ports import reserve_port


@pytest.fixture(scope="package")
def service(servers: EmbeddedServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The API with short leases, so that a fault is noticed in a second or two. It ends with this ring of tests."""
    folder = tmp_path_factory.mktemp("service")
    values: dict[str, object] = {
        "database_url": servers.database_url,
        "redis_url": servers.redis_url,
        "queue_name": "e2e",
        "lease_seconds": 2,
        "lease_renew_seconds": 0.5,
        "sweep_interval_seconds": 0.3,
        "retry_backoff_seconds": 0.1,
        "allow_testing_models": True,
        "allowed_models": {
            HELD: "testing:tests.e2e.scorers:held",
            "poison": "testing:tests.e2e.scorers:poisonous",
            "leaking": "testing:tests.e2e.scorers:leaking",
            "loading": "testing:tests.e2e.scorers:loading",
            "broken": "testing:tests.e2e.scorers:broken",
            "tiny": str(folder / "tiny"),
        },
        "endpoints": {
            "served": {
                "kind": "vllm",
                "url": f"http://127.0.0.1:{reserve_port()}",
                "model": MODEL,
                "key_variable": "KEY_OF_SERVED",
                "most_requests": 2,
            }
        },
        "cache_dir": str(folder / "cache"),
        "device": "cpu",
        "dtype": "float32",
        "default_model": HELD,
    }
    tiny_causal_lm("gpt2").save(folder / "tiny")  # a worker does not start without every model
    environment = {**environment_of(values), HOLD_VARIABLE: str(folder / "hold")}
    settings = Settings.model_validate(values)
    upgrade_schema(settings)
    with contextlib.ExitStack() as stack:
        database = create_database(settings, pool_size=2)
        stack.callback(database.dispose)
        redis = stack.enter_context(Redis.from_url(servers.redis_url))
        port = reserve_port()
        arguments = ["-m", "lens_cli", "serve", "--port", str(port), "--drain-seconds", "0"]
        api = Process("API", arguments, environment, folder / "api.log")
        stack.callback(api.stop)
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10))
        until(lambda: _is_ready(client, api), "the API answers")
        log_of_postgres = servers.children[0].spec.log_path
        yield Stack(
            settings, environment, database, redis, client, folder, log_of_postgres, folder / "hold", folder / "tiny"
        )


@pytest.fixture
def lens(service: Stack) -> Iterator[Stack]:
    """The service with nothing queued; whatever the test leaves is cleared away after it."""
    yield service
    service.let_go()
    for worker in service.workers:
        worker.stop()
    service.workers.clear()
    service.redis.flushall()
    asked_path(service.hold_path).unlink(missing_ok=True)
    with service.database.session_scope() as session:
        session.execute(text("TRUNCATE selections, datasets, idempotency_keys CASCADE"))


@pytest.fixture
def port() -> int:
    return reserve_port()


@pytest.fixture
def second_api(lens: Stack, port: int) -> Iterator[Process]:
    """An API process of the test's own, which drains for two seconds."""
    arguments = ["-m", "lens_cli", "serve", "--port", str(port), "--drain-seconds", "2"]
    api = Process("second API", arguments, lens.environment, lens.log_dir / f"api-{port}.log")
    until(lambda: api.exit_status is not None or status_at(port, "/readyz") == 200, "the second API answers")
    yield api
    api.stop()


def _is_ready(client: httpx.Client, api: Process) -> bool:
    assert api.exit_status is None, api.log()
    with contextlib.suppress(httpx.TransportError):
        return client.get("/readyz").status_code == 200
    return False
