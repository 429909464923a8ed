"""Atomic writing of a file."""

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to a scratch file beside `path`, then rename the scratch file to `path`. The folder must exist.

    A reader sees the old file or the new one. If the process is killed, the old file stays.

    Raises:
        OSError: the folder is not writable, or the disk is full. The old file stays, and the scratch file is removed.
    """
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
