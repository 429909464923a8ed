"""What a process has open, also what has no name any more."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")


def list_open_files(pid: int | str = "self") -> list[str]:
    """The targets of the descriptors: paths (` (deleted)` follows those without a name), `pipe:[…]`, `socket:[…]`.

    Raises:
        OSError: the process does not exist.
    """
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile, as the one that lists the folder
            found.append(os.readlink(descriptor))
    return found
