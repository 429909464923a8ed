"""Accounts of the servers, where root starts them.

Postgres refuses to run as root, and a server needs no right of root. Each server gets an account that no other program
has: a number without a name, from a range that neither distributions nor systemd give away. The account `nobody` would
be no wall, because other daemons have it too, and a process can read the files of each process of its account.

The data folder may lie below a folder that only root can enter, such as /root. Root therefore starts the server inside
its data folder, and the server never goes through the folders above.
"""

import os
import pwd
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lens_cli.refusals import Refusal

POSTGRES_ACCOUNT = 65531
REDIS_ACCOUNT = 65532

_READABLE = stat.S_IROTH | stat.S_IXOTH


def is_root() -> bool:
    return os.geteuid() == 0


def name_of_this_account() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        message = f"the account {os.geteuid()} has no name, and Postgres needs one; add it to /etc/passwd"
        raise Refusal(message) from None


def working_folder(folder: Path) -> str:
    """How a server names the folder that it was started in: root's servers may not go through the folders above it."""
    return "/proc/self/cwd" if is_root() and sys.platform == "linux" else str(folder)


def give(path: Path, account: int) -> None:
    """Give a file or folder to the account, if this is root. A link is not followed: its target may be anything."""
    if is_root():
        os.chown(path, account, account, follow_symlinks=False)


def give_tree(folder: Path, account: int) -> None:
    """Give a folder with all that is in it. Each folder goes before it is listed, so that no other adds to it."""
    give(folder, account)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            give(Path(parent, name), account)


def write_private(path: Path, text: str, account: int) -> None:
    """Write a file that only the account can read. What was at the path goes, and a link there is not followed."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        if is_root():  # by the open file: in a folder of the account, another file could lie at the path by now
            os.fchown(descriptor, account, account)


@contextmanager
def reachable(program: Path, package: str) -> Iterator[Path]:
    """A program of a wheel that an account without rights can run: the installed one, or one in a copy of the wheel."""
    program = program.resolve()
    if not is_root() or _is_open(program):
        yield program
        return
    site = next(parent.parent for parent in program.parents if parent.name == package)
    with tempfile.TemporaryDirectory(prefix="lens-programs-") as scratch:
        for name in (package, f"{package}.libs"):  # the second has the libraries of a repaired wheel
            if (site / name).exists():
                shutil.copytree(site / name, Path(scratch, name))
        for path in (Path(scratch), *Path(scratch).rglob("*")):
            path.chmod(0o755)
        copied = scratch / program.relative_to(site)
        if not _is_open(copied):
            message = f"no other account than root reaches {program}, nor {Path(scratch).parent}, where a copy would be"
            raise Refusal(f"{message}; name another folder in TMPDIR, or start Lens from another account than root")
        yield copied


def _is_open(program: Path) -> bool:
    """Whether every account can run the program."""
    return program.stat().st_mode & _READABLE == _READABLE and all(
        parent.stat().st_mode & stat.S_IXOTH for parent in program.parents
    )
