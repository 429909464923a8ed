"""Writing a file whole or not at all."""

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to a scratch file beside `path`, and move it there; the folder must exist.

    A reader sees the old file or the new one, and a killed process leaves the old one.

    Raises:
        OSError: the folder cannot be written to, or the disk is full; the old file stays.
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
