"""The cache folder: converted models, digests of large files and scores, kept between runs.

The folder is the one given, or else `LENS_CACHE_DIR`, or ~/.cache/lens. It may be deleted at any time: everything in it
can be made again. An entry is written to one side and moved into place. So a killed process leaves no half of an entry,
and processes that make the same entry at once do not disturb each other.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from lens_engine.disk.replace_file import replace_file

_FORMAT = "v1"


def cache_folder(given: Path | None = None) -> Path:
    """The folder given, or the default one."""
    return given or Path(os.environ.get("LENS_CACHE_DIR") or "~/.cache/lens").expanduser()


def digest_files(files: Sequence[Path], cache_dir: Path | None = None) -> str:
    """SHA-256 of one file, or over the names and SHA-256s of several.

    A file's digest is remembered by its path, size and time of change.
    """
    digests = [_digest_file(file, cache_folder(cache_dir)) for file in files]
    if len(digests) == 1:
        return digests[0]
    lines = (f"{file.name} {digest}\n" for file, digest in zip(files, digests, strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def make_once(key: str, make: Callable[[Path], None], cache_dir: Path | None = None) -> Path:
    """The folder of cache entry `key`; if there is none, `make` fills an empty folder that becomes it."""
    entry = cache_folder(cache_dir) / "models" / f"{_FORMAT}-{key}"
    if entry.is_dir():
        return entry
    entry.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=entry.parent))
    try:
        make(draft)
        _move_into_place(draft, entry)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return entry


def _move_into_place(draft: Path, entry: Path) -> None:
    try:
        os.replace(draft, entry)
    except OSError:
        if not entry.is_dir():  # otherwise another process was first, with the same content
            raise


def _digest_file(file: Path, folder: Path) -> str:
    status = file.stat()
    key = hashlib.sha256(json.dumps([str(file), status.st_size, status.st_mtime_ns]).encode()).hexdigest()
    remembered = folder / "digests" / key
    if remembered.is_file():
        return remembered.read_text("ascii")
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    _remember(remembered, digest)
    return digest


def _remember(path: Path, digest: str) -> None:
    """Write atomically; a cache that cannot be written only costs time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, digest.encode("ascii"))
    except OSError:
        return
