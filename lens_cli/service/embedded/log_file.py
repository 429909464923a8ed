"""The log of a child: a file that only this account can read, of bounded size.

The child writes to the file by itself, and goes on if this process stands still. The file is therefore not renamed but
copied and emptied. The child appends, so its next line is at the beginning.
"""

import errno
import os
import shutil
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path

from lens_cli.refusals import RefusedInput

MAX_LOG_BYTES = 10 * 2**20
"""Size at which a log is begun anew (bytes). Of the old lines, as many are kept beside it."""


def open_log(path: Path) -> BufferedWriter:
    """Open a log to append to it.

    Raises:
        Refusal: the path is a link, which could lead to any file.
    """
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
    with suppress(FileNotFoundError):
        if path.stat().st_size >= max_bytes:
            _move_lines(path)


def _move_lines(path: Path) -> None:
    old = path.with_name(f"{path.name}.1")
    with suppress(OSError):
        old.unlink(missing_ok=True)
        with path.open("rb") as source, open_log(old) as target:
            shutil.copyfileobj(source, target)
    os.truncate(path, 0)
