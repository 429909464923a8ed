"""Rings of tests, and real servers for the tests that need them.

The folder of a test is its ring (CONTRIBUTING.md, "Tests"). Each process of a run starts one Postgres and one Redis.
The database is built once by the real migrations and emptied before each test. The packages of the service are
imported by the fixtures that need them, so tests of the engine run on a machine without these packages.
"""

import gc
import itertools
import logging
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.settings import Settings
    from lens_cli.service.embedded import EmbeddedServers
    from tests.llama_server.server import LlamaServer

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read at the import of torch; tiny models gain nothing from threads
with suppress(ImportError):  # on a bare machine
    from hypothesis import settings as hypothesis_settings

    hypothesis_settings.register_profile("quick", max_examples=25, deadline=None)
    hypothesis_settings.register_profile("nightly", max_examples=200, deadline=None)
    hypothesis_settings.load_profile("quick")  # `make nightly` names the other
gc.set_threshold(20_000, 20, 20)  # a million objects live from the collection of tests on

TESTS = Path(__file__).parent
UNIT_TESTS = TESTS / "unit"
_are_units = pytest.StashKey[bool]()
_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Without pytest-timeout, accept its setting: an unknown setting is an error."""
    if not pluginmanager.hasplugin("timeout"):
        parser.addini("timeout", "timeout of a test (seconds); needs pytest-timeout")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note whether the run has nothing but unit tests."""
    config.stash[_are_units] = all(UNIT_TESTS in item.path.parents for item in items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a unit test after which torch is imported. Only a run of nothing but unit tests can tell."""
    result = yield
    if item.config.stash[_are_units] and "torch" in sys.modules:
        pytest.fail("torch has been imported, by this module or test: its place is tests/torch")
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    # A command under test in this process may have changed the levels, and may have left a handler.
    root = logging.getLogger()
    root.setLevel(logging.WARNING)
    root.handlers = [handler for handler in root.handlers if type(handler) is not logging.StreamHandler]
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] in ("app", "worker", "lens_engine", "lens_cli"):
            logger = logging.getLogger(name)
            logger.setLevel(logging.NOTSET)
            logger.handlers.clear()
    if item.get_closest_marker("gpu") is not None:
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA GPU, and torch sees none")


@pytest.fixture(scope="session", autouse=True)
def _signals() -> Iterator[None]:
    from tests.dispositions import default_signals

    with default_signals():
        yield


@pytest.fixture(scope="session", autouse=True)
def _embedder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A small embedder is the one of the operator: the bundled one takes some 15 ms for each row of each run."""
    from tests.unit.lens_engine.prompt.folders import write_letters

    os.environ["LENS_EMBEDDINGS"] = str(write_letters(tmp_path_factory.mktemp("embedder") / "letters"))


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[EmbeddedServers]":
    from lens_cli.service.embedded import embedded_servers

    with embedded_servers(tmp_path_factory.mktemp("servers"), durable=False) as running:
        yield running


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[LlamaServer]":
    """A real llama-server with the bundled model in float32. Skips where `make llama-server` has built none."""
    from tests.llama_server.program import find_program
    from tests.llama_server.server import LlamaServer
    from tests.llama_server.weights import float32_weights

    program = find_program()
    if program is None:
        pytest.skip("llama-server has not been built: run `make llama-server`, which needs cmake and a C++ compiler")
    log_path = tmp_path_factory.mktemp("llama-server") / "log"
    with LlamaServer(program, float32_weights(), log_path) as running:
        yield running


@pytest.fixture(scope="session")
def migrated(servers: "EmbeddedServers") -> "Settings":
    """Settings of a database at the newest migration, the same for the whole run."""
    from app.store.schema import upgrade_schema

    settings = make_settings(servers, "lens_tests")
    _run(servers, "CREATE DATABASE lens_tests")
    upgrade_schema(settings)
    return settings


@pytest.fixture
def settings(migrated: "Settings", tmp_path: Path) -> "Settings":
    """Settings of a migrated database with empty tables, and of an empty Redis."""
    from redis import Redis

    with Redis.from_url(migrated.redis_url) as redis:
        redis.flushall()
    _empty_tables(migrated.database_url)
    return migrated.model_copy(update={"spool_dir": _folder(tmp_path / "spool")})


@pytest.fixture
def empty_database(servers: "EmbeddedServers") -> "Iterator[Settings]":
    """Settings of a database without tables."""
    name = f"lens_empty_{next(_numbers)}"
    _run(servers, f"CREATE DATABASE {name}")
    yield make_settings(servers, name)
    _run(servers, f"DROP DATABASE {name} WITH (FORCE)")


def make_settings(servers: "EmbeddedServers", database: str, **changes: object) -> "Settings":
    from sqlalchemy import make_url

    from app.settings import Settings

    url = make_url(servers.database_url).set(database=database).render_as_string(hide_password=False)
    values: dict[str, object] = {"database_url": url, "redis_url": servers.redis_url, **changes}
    return Settings.model_validate(values)


def _empty_tables(database_url: str) -> None:
    """Truncate, since DELETE keeps the statistics. That costs 30 ms, so only where a test has written something."""
    from sqlalchemy import text

    from app.store.tables import Base

    names = [table.name for table in Base.metadata.sorted_tables]
    with _keep_engine(database_url).connect() as connection:
        sizes = connection.execute(
            text("SELECT sum(pg_relation_size(n::regclass)) FROM unnest(CAST(:names AS text[])) AS n"), {"names": names}
        )
        if sizes.scalar():
            connection.execute(text(f"TRUNCATE {', '.join(names)} RESTART IDENTITY"))


@cache
def _keep_engine(database_url: str) -> "Engine":
    from sqlalchemy import create_engine

    return create_engine(database_url, pool_size=1, pool_pre_ping=True, isolation_level="AUTOCOMMIT")


def _run(servers: "EmbeddedServers", statement: str) -> None:
    _run_at(servers.database_url, statement)


def _run_at(database_url: str, statement: str) -> None:
    from sqlalchemy import create_engine, pool, text

    engine = create_engine(database_url, poolclass=pool.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
