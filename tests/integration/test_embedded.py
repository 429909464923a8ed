"""Postgres and Redis from a folder: they come up, keep their data, and end with whoever started them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis import Redis
from sqlalchemy import create_engine, make_url, pool, text

from lens_cli.refusals import Refusal, RefusedInput
from lens_cli.service.embedded import Child, ChildFailed, ChildSpec, EmbeddedServers, embedded_servers
from lens_cli.service.stack import StackSpec, running_stack
from tests.dispositions import default_signals, ignored_signals
from tests.e2e.waiting import until

ROOT = Path(__file__).parents[2]
HOLDER = (
    "import sys, time\nfrom pathlib import Path\nfrom lens_cli.service.embedded import embedded_servers\n"
    "with embedded_servers(Path(sys.argv[1]), durable=False) as servers:\n"
    "    print(*(child.pid for child in servers.children), flush=True)\n"
    "    time.sleep(600)\n"
)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs servers over `tmp_path / "data"`; their pids are its first line."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "data")]
    with default_signals():
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with process:
        yield process
        process.kill()


def pids_of(holder: subprocess.Popen[str]) -> list[int]:
    assert holder.stdout is not None
    return [int(pid) for pid in holder.stdout.readline().split()]


def are_gone(pids: list[int]) -> bool:
    return not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)


def store(servers: EmbeddedServers, value: str) -> None:
    engine = create_engine(servers.database_url, poolclass=pool.NullPool)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE kept (value text)"))
        connection.execute(text("INSERT INTO kept VALUES (:value)"), {"value": value})
    with Redis.from_url(servers.redis_url) as redis:
        redis.set("kept", value)


def read(servers: EmbeddedServers) -> tuple[str, str]:
    engine = create_engine(servers.database_url, poolclass=pool.NullPool)
    with engine.connect() as connection, Redis.from_url(servers.redis_url, decode_responses=True) as redis:
        return str(connection.execute(text("SELECT value FROM kept")).scalar_one()), str(redis.get("kept"))


def test_durable_servers_keep_their_data_and_get_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a process that names another one is no obstacle to the next start."""
    monkeypatch.setenv("KEY_OF_AN_ENDPOINT", "secret")
    with embedded_servers(tmp_path) as servers, Redis.from_url(servers.redis_url, decode_responses=True) as redis:
        store(servers, "for good")
        assert redis.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert redis.config_get("appendonly") == {"appendonly": "yes"}
        assert redis.config_get("port") == {"port": "0"}
        environment = psutil.Process(servers.children[0].pid).environ()  # Redis overwrites its own
        assert environment.keys() & {"PATH", "KEY_OF_AN_ENDPOINT"} == {"PATH"}
        pid_file = tmp_path / "postgres" / "postmaster.pid"
        _, _, rest = pid_file.read_text().partition("\n")
    pid_file.write_text(f"{os.getpid()}\n{rest}")
    with embedded_servers(tmp_path) as servers:
        assert read(servers) == ("for good", "for good")


def test_directory_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    with embedded_servers(tmp_path, durable=False) as servers:
        engine = create_engine(servers.database_url, poolclass=pool.NullPool)
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE alembic_version AS SELECT '9999' AS version_num"))
    spec = StackSpec(tmp_path, "127.0.0.1", 0, durable=False)
    with pytest.raises(RefusedInput, match="does not know revision 9999") as refused, running_stack(spec, print):
        pass
    assert "start the release that made it, or name another folder by --data-dir" in refused.value.details[0]


def test_one_directory_is_served_once_and_nothing_is_left_running_when_the_block_raises(tmp_path: Path) -> None:
    pids = list[int]()

    def fail() -> None:
        with embedded_servers(tmp_path, durable=False) as servers:
            with pytest.raises(Refusal, match=f"in use by process {os.getpid()}"), embedded_servers(tmp_path):
                pass
            assert [child.exit_status for child in servers.children] == [None, None]
            pids.extend(child.pid for child in servers.children)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(pids) == 2
    assert are_gone(pids)
    assert not list(tmp_path.glob("*/*.sock"))


def test_path_too_long_for_a_socket_is_served(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    with embedded_servers(folder, durable=False) as servers:
        store(servers, "short")
        short = make_url(servers.database_url).query["host"]
        assert isinstance(short, str)
        assert not Path(short).is_relative_to(folder)
        assert Path(short).samefile(folder / "postgres")
        assert Path(short).parents[1].stat().st_mode & 0o777 == 0o700
    assert not Path(short).parents[1].exists()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of their parent's death")
def test_servers_end_with_their_parent_and_their_directory_can_be_used_at_once(
    holder: subprocess.Popen[str], end: signal.Signals, tmp_path: Path
) -> None:
    pids = pids_of(holder)
    assert len(pids) == 2
    holder.send_signal(end)
    holder.wait(30)
    with embedded_servers(tmp_path / "data", durable=False) as servers:
        store(servers, "again")
    until(lambda: are_gone(pids), "the servers are gone")


def test_child_does_not_inherit_ignored_signals(tmp_path: Path) -> None:
    script = "import signal as s; print(*(s.getsignal(n) is s.SIG_IGN for n in (s.SIGINT, s.SIGHUP, s.SIGTERM)))"
    with ignored_signals():
        child = Child(ChildSpec("script", [sys.executable, "-c", script], tmp_path / "log"))
    assert child.wait(30) == 0
    assert child.read_log_tail() == "False False False"


def test_initialisation_that_was_cut_off_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "postgres.new" / "base").mkdir(parents=True)
    (tmp_path / "postgres.new" / "PG_VERSION").write_text("18\n")
    with embedded_servers(tmp_path, durable=False) as servers:
        store(servers, "whole")


def test_server_that_dies_is_named_with_its_log_and_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    with embedded_servers(tmp_path, durable=False) as servers:
        postgres, _ = servers.children
        os.kill(postgres.pid, signal.SIGQUIT)
        until(lambda: postgres.exit_status is not None, "Postgres is gone")
        with pytest.raises(ChildFailed, match=r"Postgres ended with exit code \d+; the end of its log:"):
            postgres.check_alive()
    (tmp_path / "postgres" / "postgresql.conf").write_text("nonsense = on\n")
    with pytest.raises(ChildFailed, match="nonsense"), embedded_servers(tmp_path, durable=False):
        pass
