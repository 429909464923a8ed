"""The cache folder: converted models, digests of large files, outcomes of checks and scores, kept between runs.

The folder is the argument `cache_dir`, else the environment variable `LENS_CACHE_DIR`, else ~/.cache/lens. It may be
deleted at any time: every entry can be made again. An entry is written to a scratch folder and moved into place. So a
killed process leaves no partial entry, and two processes can make the same entry at the same time. `replace_file`
writes one file whole or not at all.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

_FORMAT = "v2"


def cache_folder(given: Path | None = None) -> Path:
    """`given`, or the default folder if it is None."""
    return given or Path(os.environ.get("LENS_CACHE_DIR") or "~/.cache/lens").expanduser()


def digest_files(files: Sequence[Path], cache_dir: Path | None = None) -> str:
    """SHA-256 of one file; for several files, the SHA-256 of their names and digests.

    The cache folder keeps the digest of each file by path, size and modification time.
    """
    digests = [_digest_file(file, cache_dir) for file in files]
    if len(digests) == 1:
        return digests[0]
    lines = (f"{file.name} {digest}\n" for file, digest in zip(files, digests, strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def find_digest(file: Path, cache_dir: Path | None = None) -> str | None:
    """The digest of a file that `digest_files` has kept; None if it has not. The file is not read."""
    return read_note(_digest_key(file), cache_dir)


def read_note(content: object, cache_dir: Path | None = None) -> str | None:
    """The text that was kept for `content` (plain JSON); None if there is none."""
    try:
        return _note(content, cache_dir).read_text("utf-8")
    except (OSError, ValueError):
        return None


def keep_note(content: object, text: str, cache_dir: Path | None = None) -> None:
    """Keep a text for `content`, atomically. A failed write is ignored: the text is found again next time."""
    path = _note(content, cache_dir)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError:
        return


def make_once(key: str, make: Callable[[Path], None], cache_dir: Path | None = None) -> Path:
    """The folder of cache entry `key`. If it does not exist, `make` fills an empty folder, which becomes the entry."""
    entry = _entry(key, cache_dir)
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


def find_made(key: str, cache_dir: Path | None = None) -> Path | None:
    """The folder of cache entry `key`; None if it does not exist."""
    entry = _entry(key, cache_dir)
    return entry if entry.is_dir() else None


def _entry(key: str, cache_dir: Path | None) -> Path:
    return cache_folder(cache_dir) / "models" / f"{_FORMAT}-{key}"


def _move_into_place(draft: Path, entry: Path) -> None:
    try:
        os.replace(draft, entry)
    except OSError:
        if not entry.is_dir():  # otherwise another process made the same entry first
            raise


def _note(content: object, cache_dir: Path | None) -> Path:
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return cache_folder(cache_dir) / "notes" / key


def _digest_key(file: Path) -> list[object]:
    status = file.stat()
    return ["digest", str(file), status.st_size, status.st_mtime_ns]


def _digest_file(file: Path, cache_dir: Path | None) -> str:
    key = _digest_key(file)
    digest = read_note(key, cache_dir)
    if digest is None:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        keep_note(key, digest, cache_dir)
    return digest


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
