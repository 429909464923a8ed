"""Files of uploads while they are read, in the spool folder of the settings."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import IO

_PREFIX = "lens-upload-"


def open_upload(folder: Path | None) -> IO[bytes]:
    """Open a new file, which is deleted when it is closed.

    It is locked as long as this process has it open, so that another process that starts does not take it for one left
    over.

    Args:
        folder: None for that of the system.
    """
    while True:
        file: IO[bytes] = NamedTemporaryFile(prefix=_PREFIX, dir=folder)  # noqa: SIM115
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink > 0:
            return file
        with suppress(FileNotFoundError):  # a sweep deleted it before it was locked
            file.close()


def sweep_uploads(folder: Path | None) -> None:
    """Delete the files of processes that were killed."""
    for path in Path(folder or gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while a process has the file open
            path.unlink()
