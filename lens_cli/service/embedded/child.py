"""A child process that ends when this process ends, with its log, which only this account can read; and a server.

The child writes to the log by itself, and goes on if this process stands still. A log that is large is therefore not
renamed but copied and emptied. The child appends, so its next line is at the beginning.
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from io import BufferedWriter
from pathlib import Path
from typing import ClassVar

from lens_cli.refusals import Refusal, RefusedInput
from lens_cli.service.embedded.account import give, is_root, reachable

_LAUNCHER = Path(__file__).with_name("launch.py")
MAX_LOG_BYTES = 10 * 2**20  #: Size at which a log is begun anew (bytes). Of the old lines, as many are kept beside it.
_TAIL_CHARACTERS = 2000
_KILL_SECONDS = 10.0

StopSignals = Sequence[tuple[signal.Signals, float]]
STOP_BY_SIGTERM: StopSignals = ((signal.SIGTERM, 10.0),)


class ChildFailed(Refusal):
    """A child process did not start, or ended unexpectedly."""


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to start and how to stop it.

    `stop_signals` are pairs of a signal and the time to wait for its effect (seconds). They are sent
    in order, and SIGKILL follows. When this process dies without stopping the child, Linux sends
    `death_signal`, by default the first stop signal. On other systems the child keeps running until
    the next start in its directory stops it.

    `user` is the account that runs the program, a name or a number; None for that of this process. The program starts
    in `folder`, which its account may not be able to reach by its path.

    `inherited` names the variables of this process that the program gets, below `environment`; None for all.
    """

    name: str
    command: Sequence[str]
    log_path: Path
    stop_signals: StopSignals = STOP_BY_SIGTERM
    death_signal: signal.Signals | None = None
    user: str | None = None
    folder: Path | None = None
    inherited: frozenset[str] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Child:
    """A running program in its own session, so that Ctrl-C reaches only this process.

    Start the child from a thread that lives as long as the child should. Linux treats the death of
    the starting thread as the death of the parent.
    """

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        death_signal = spec.death_signal or spec.stop_signals[0][0]
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), str(int(death_signal))]
        kept = {name: value for name, value in os.environ.items() if name in (spec.inherited or os.environ)}
        with open_log(spec.log_path) as log:
            self._process = subprocess.Popen(
                [*launcher, spec.user or "-", *spec.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=spec.folder,
                env={**kept, **spec.environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """Exit status: None while the child runs, negative if a signal ended the child."""
        return self._process.poll()

    def wait(self, seconds: float) -> int:
        """Wait until the child ends by itself and return its exit status."""
        return self._process.wait(seconds)

    def check_alive(self) -> None:
        status = self.exit_status
        if status is not None:
            raise ChildFailed(f"{self.spec.name} {describe_end(status)}; the end of its log:\n{self.read_log_tail()}")

    def shorten_log(self) -> None:
        """Begin a new log file once the log is large."""
        shorten(self.spec.log_path)

    def read_log_tail(self) -> str:
        try:
            text = self.spec.log_path.read_text(errors="replace")
        except FileNotFoundError:  # somebody deleted it
            text = ""
        return text[-_TAIL_CHARACTERS:].strip() or "(empty)"

    def stop(self) -> None:
        """Send the stop signals in order, then SIGKILL. Returns after the child has ended."""
        for signal_number, seconds in self.spec.stop_signals:
            if self.exit_status is not None:
                return
            self._process.send_signal(signal_number)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
            return
        self._process.kill()
        self._process.wait(_KILL_SECONDS)


def describe_end(status: int) -> str:
    """How a process ended, from its exit status, to go on after its name."""
    if status >= 0:
        return f"ended with exit code {status}"
    name = signal.Signals(-status).name
    if status == -signal.SIGKILL:
        return f"was killed by {name}, usually by the system, because memory ran out"
    return f"was killed by {name}"


def find_binary(package: str, path: str) -> str:
    """Find a program in an installed wheel, without importing the package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ChildFailed(
            f"{package} is not installed; in the folder of Lens, run: pip install -c constraints.txt '.[embedded]'"
        )
    binary = Path(spec.submodule_search_locations[0], path)
    if not binary.exists():
        raise ChildFailed(f"{binary} is missing; reinstall {package}")
    return str(binary)


def open_log(path: Path) -> BufferedWriter:
    """Open a log to append to it."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise RefusedInput(f"the log {path} is a link, and Lens writes through none", "delete the link") from None
    os.fchmod(descriptor, 0o600)
    return open(descriptor, "ab")


def shorten(path: Path, max_bytes: int = MAX_LOG_BYTES) -> None:
    """Move the lines of a log to `<name>.1` if they are many. A line written meanwhile may be lost.

    On a full disk the old lines go: the log must not take the place that the stores need. A log that somebody deleted
    is left alone.
    """
    old = path.with_name(f"{path.name}.1")
    with suppress(FileNotFoundError):
        if path.stat().st_size < max_bytes:
            return
        with suppress(OSError):
            old.unlink(missing_ok=True)
            with path.open("rb") as source, open_log(old) as target:
                shutil.copyfileobj(source, target)
        os.truncate(path, 0)


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
