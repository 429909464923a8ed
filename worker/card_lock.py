"""One worker on a card: a lock of the kernel on a file of the machine, held until the worker and its work-horse end.

Two workers on one card would take each other's memory in the middle of a run. The kernel frees the lock when the last
process that holds it ends in any way, so a dead worker leaves nothing to clean up. A work-horse inherits the lock.
"""

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.settings import Settings
from worker.device import Device, UnfitWorker

_LOCKS = Path("/run/lock")
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9-]+")


@contextmanager
def holding_card(device: Device, settings: Settings) -> Iterator[None]:
    """Hold the card during the block; a processor needs no lock.

    With `share_device` the lock is shared: it keeps out only workers that do not share.

    Raises:
        UnfitWorker: another worker holds the card, or the lock cannot be made.
    """
    if not device.is_card:
        yield
        return
    path = (settings.lock_dir or default_lock_dir()) / f"lens-card-{_NOT_OF_A_NAME.sub('-', str(device.uuid))}.lock"
    try:
        descriptor = _lock(path, fcntl.LOCK_SH if settings.share_device else fcntl.LOCK_EX)
    except BlockingIOError:
        raise UnfitWorker(
            f"another worker computes on {device.name} ({device.torch_name}, {device.uuid}); start one worker for each "
            "card, or set LENS_SHARE_DEVICE=1 for every worker of this card"
        ) from None
    except OSError as error:
        raise UnfitWorker(
            f"the lock of the card cannot be made: {error}; set LENS_LOCK_DIR to another folder"
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)


def default_lock_dir() -> Path:
    """The machine's folder for locks, which is empty after a restart; else the folder for temporary files."""
    return _LOCKS if os.access(_LOCKS, os.W_OK) else Path(tempfile.gettempdir())


def _lock(path: Path, kind: int) -> int:
    while True:
        descriptor = _open(path)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the file was deleted meanwhile, and others lock the new one


def _open(path: Path) -> int:
    """Open the file, and create it only where there is none.

    In a public folder Linux forbids to create over the file of another user.
    """
    while True:
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDONLY)
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL)
            os.fchmod(descriptor, 0o644)  # whatever the umask: workers of other users read it too
            return descriptor


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
