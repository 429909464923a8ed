"""Atomic writing of a file."""

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes, *, is_only_writer: bool = False) -> None:
    """Write `content` to a scratch file beside `path`, then rename the scratch file to `path`. The folder must exist.

    A reader sees the old file or the new one. If the process is killed, the old file stays.

    Args:
        is_only_writer: no other process writes `path`. The scratch file then always has the same name, so that killed
            processes leave one scratch file at most.

    Raises:
        OSError: the folder is not writable, or the disk is full. The old file stays, and the scratch file is removed.
    """
    if is_only_writer:
        scratch = path.with_name(f".{path.name}.partial")
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    else:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        scratch = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.chmod(0o644)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
