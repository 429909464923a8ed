"""What Postgres and Redis from a wheel have in common."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from lens_cli.service.embedded.account import give, is_root, reachable
from lens_cli.service.embedded.child import (
    STOP_BY_SIGTERM,
    Child,
    ChildFailed,
    ChildSpec,
    StopSignals,
    find_binary,
)

INHERITED = frozenset({"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "TZ"})
"""Variables that a server gets. The others may be keys of model servers, which are not for its account."""
_START_SECONDS = 60.0


class EmbeddedServer:
    """One server over `data_dir`, which also has its socket. Only the account of the server can enter the folder.

    `durable` keeps what is written through a crash; without it the server is faster. The path of the folder must be
    short enough for a socket in it (`short_path`).
    """

    name: ClassVar[str]
    account: ClassVar[int]  #: that runs the server, if root starts it

    def __init__(self, data_dir: Path, log_path: Path, *, durable: bool) -> None:
        self._data_dir = data_dir
        self._log_path = log_path
        self._durable = durable
        self._child: Child | None = None
        self._copies = ExitStack()
        self._folders = dict[Path, Path]()  #: of a wheel's programs -> where the account of the server can run them

    @property
    def child(self) -> Child:
        if self._child is None:
            raise ChildFailed(f"{self.name} has not been started")
        return self._child

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()
        self._copies.close()
        self._folders.clear()

    def _find_fault(self) -> str | None:
        """Why the server does not answer; None if it does."""
        raise NotImplementedError

    def _make_folder(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        give(folder, self.account)

    def _find_program(self, package: str, path: str) -> str:
        """A program of a wheel, where the account of the server can run it."""
        program = Path(find_binary(package, path))
        if program.parent not in self._folders:
            self._folders[program.parent] = self._copies.enter_context(reachable(program, package)).parent
        return str(self._folders[program.parent] / program.name)

    def _run(self, command: Sequence[str], stop_signals: StopSignals = STOP_BY_SIGTERM) -> None:
        """Start the program inside its data folder, and wait until it answers."""
        account = str(self.account) if is_root() else None
        folder, log = self._data_dir, self._log_path
        self._child = Child(ChildSpec(self.name, command, log, stop_signals, None, account, folder, INHERITED))
        deadline = time.monotonic() + _START_SECONDS
        while (fault := self._find_fault()) is not None:
            self._child.check_alive()
            if time.monotonic() > deadline:
                raise ChildFailed(f"{self.name} did not answer in {_START_SECONDS:.0f} s: {fault}")
            time.sleep(0.02)
