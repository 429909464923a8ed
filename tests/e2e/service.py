"""Starts the API over real servers, for the rings of tests that share it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx
from redis import Redis
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from app.settings import Settings
from app.store.database import Database, opened_database
from app.store.schema import upgrade_schema
from lens_cli.service.embedded import EmbeddedServers
from tests.e2e.scorers import HELD, HOLD_VARIABLE
from tests.e2e.stack import Stack, environment_of
from tests.e2e.waiting import until
from tests.ports import reserve_port


@contextlib.contextmanager
def running_service(servers: EmbeddedServers, folder: Path, **changes: object) -> Iterator[Stack]:
    """The API with short leases, so that a fault is noticed in a second or two."""
    answers_port = reserve_port()
    values: dict[str, object] = {
        "database_url": servers.database_url,
        "redis_url": servers.redis_url,
        "lease_seconds": 3,
        "lease_renew_seconds": 0.5,
        "sweep_interval_seconds": 0.3,
        "retry_backoff_seconds": 0.1,
        "allow_testing_models": True,
        "allowed_models": {HELD: "testing:tests.e2e.scorers:held"},
        "cache_dir": str(folder / "cache"),
        "device": "cpu",
        "dtype": "float32",
        "default_model": HELD,
        "answers_addresses": f"http://127.0.0.1:{answers_port}",
        **changes,
    }
    of_service = {"database_url": servers.service_database_url, "redis_url": servers.service_redis_url}
    environment = {**environment_of(values | of_service), HOLD_VARIABLE: str(folder / "hold")}
    settings = Settings.model_validate(values)
    upgrade_schema(settings)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(opened_database(settings, pool_size=2))
        redis = stack.enter_context(Redis.from_url(servers.redis_url))
        port = reserve_port()
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10))
        log_of_postgres = servers.children[0].spec.log_path
        made = Stack(
            *(settings, environment, database, redis, client, folder, log_of_postgres),
            hold_path=folder / "hold",
            model_dir=folder / "tiny",
            answers_port=answers_port,
        )
        stack.callback(made.stop_api)
        stack.callback(made.cool)
        stack.callback(lambda: [one.stop() for one in made.others])
        made.start_api()
        yield made


def clear(service: Stack) -> None:
    """End the workers but a warm one, and take away whatever a test left."""
    service.let_go()
    for process in (*service.workers, *service.others):
        process.stop()
    service.others.clear()
    service.workers.clear()
    of_workers = {key for key in service.redis.scan_iter("rq:worker*") if service.warm is not None}
    for key in set(service.redis.scan_iter()) - of_workers:
        service.redis.delete(key)
    until(lambda: _empty(service.database), "the tables are empty")


_TABLES = "jobs, datasets, idempotency_keys, prompts, prompt_contents, api_keys"


def _empty(database: Database) -> bool:
    """False where a request reads at the same time, and Postgres ends one of the two to free the other."""
    try:
        with database.session_scope() as session:
            session.execute(text(f"TRUNCATE {_TABLES} CASCADE"))
    except OperationalError:
        return False
    return True
