"""Reads the parts of a multipart body as they arrive: whole, in UTF-8, files to the spool folder."""

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir
from typing import IO

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.errors import BadRequest, Unprocessable, point
from app.selections.bodies import FormBody, name_file
from app.selections.parts import COLUMN_PARTS, COLUMNS, DIALECT_PARTS, MAX_COLUMN_CHARACTERS, MAX_TEXT_COLUMNS
from lens_engine.prompt.text_checks import NUL

_PREFIX = "lens-upload-"


def open_upload(folder: Path | None) -> IO[bytes]:
    """Open a new file in a folder, or with None in that of the system. It is deleted when it is closed.

    It is locked as long as this process has it open, so that another process that starts does not take it for one left
    over.
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


_MAX_PART_BYTES, _MOST_FIELDS = 2**20, MAX_TEXT_COLUMNS + len(COLUMN_PARTS) + 1  #: fields: a column too many is told
_BODY_SECONDS, _SLOWEST_BYTES = 60.0, 100_000
"""Time in which a body must arrive (seconds), and bytes that buy another second. A client that sends a byte now and
then would hold its place for ever."""
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_SHOWN_CHARACTERS = 40
_FILES = ("dataset", "test", "texts", "answers")
_MEANINGS = {"delimiter": "the string between fields", "encoding": "the name of an encoding"}


async def arriving(request: Request) -> AsyncGenerator[bytes, None]:
    """The body, piece by piece. Raises BadRequest if it arrives too slowly."""
    began, received, chunks = asyncio.get_running_loop().time(), 0, request.stream()
    while True:
        seconds = _BODY_SECONDS + received / _SLOWEST_BYTES
        try:
            async with asyncio.timeout_at(began + seconds):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise BadRequest(
                f"{received:,} bytes of the body arrived in {seconds:.0f} seconds, and nothing of it was stored; send "
                "it faster",
                headers={"Connection": "close"},
            ) from error
        received += len(chunk)
        yield chunk


class _WholeFormParser(MultiPartParser):
    """Reads a form in UTF-8, writes its files to the spool folder, and refuses an incomplete form.

    Starlette would drop the incomplete file and continue, and spool to the system's folder. It would decode parts by
    the codec that the client names, and some codecs of Python take quadratic time or raise errors that Starlette does
    not expect.
    """

    def __init__(self, request: Request, folder: Path | None) -> None:
        _check_charset(request)
        chunks = self._read_to_the_end(request)
        super().__init__(request.headers, chunks, max_files=3, max_fields=_MOST_FIELDS, max_part_size=_MAX_PART_BYTES)
        self._has_ended = False
        self._folder = folder

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if self._current_part.file is not None:
            file = open_upload(self._folder)
            self._files_to_close_on_error.pop().close()
            self._files_to_close_on_error.append(file)  # type: ignore[arg-type]
            self._current_part.file.file = file  # type: ignore[assignment]

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        part = self._current_part
        if part.file is None and len(part.data) + end - start > self.max_part_size:
            raise _bad_part(part.field_name, f"has more than {self.max_part_size:,} bytes")
        super().on_part_data(data, start, end)

    def on_part_end(self) -> None:
        part = self._current_part
        if part.file is None:
            self.items.append((part.field_name, _decode(part.field_name, part.data)))
        else:
            super().on_part_end()

    def on_end(self) -> None:
        self._has_ended = True

    async def _read_to_the_end(self, request: Request) -> AsyncGenerator[bytes, None]:
        async for chunk in arriving(request):
            yield chunk
        if not self._has_ended:
            raise BadRequest("the form ends before its last boundary; send the complete form")


def _check_charset(request: Request) -> None:
    _, parameters = parse_options_header(request.headers["Content-Type"])
    charset = parameters.get(b"charset", b"utf-8").decode("latin-1").strip().lower()
    if charset not in _CHARSETS:
        raise BadRequest(
            "the charset of a form must be UTF-8; write the parts in UTF-8, and leave `charset` out of the header "
            "Content-Type or set it to utf-8"
        )


def _decode(name: str, data: bytearray) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = name[:_SHOWN_CHARACTERS]
        raise BadRequest.at(point(shown), f"`{shown}` is not UTF-8 (byte {error.start}); write it in UTF-8") from error


async def parse_form(request: Request, folder: Path | None) -> FormData:
    """Read a form. Its files are in the folder until the form is closed."""
    try:
        return await _WholeFormParser(request, folder).parse()
    except MultiPartException as error:
        raise BadRequest(f"the form cannot be read: {error.message}") from error


async def read_parts(form: FormData, known: Sequence[str]) -> FormBody:
    """The body that a form is. `known`: names of the parts that it may have."""
    for name, _ in form.multi_items():
        if name not in known:
            *others, last = known
            raise _bad_part(name, f"is not a known part; the parts are {', '.join(others)} and {last}")
        if len(form.getlist(name)) > 1 and name != "text_column":
            raise _bad_part(name, "occurs more than once; send it once")
    uploads = {name: _file(form, name) for name in _FILES if name in form}
    words = {name: _words(form, name) for name in COLUMN_PARTS if name in form}
    for upload in uploads.values():
        upload.file.flush()  # the reader opens it by its path
    return FormBody(
        await _spec(form),
        files={name: Path(upload.file.name) for name, upload in uploads.items()},
        columns={name: words[name] if len(words[name]) > 1 else words[name][0] for name in COLUMNS if name in words},
        dialect={name: words[name][0] for name in DIALECT_PARTS if name in words},
        names={name: shown for name, upload in uploads.items() if (shown := name_file(upload.filename or ""))},
    )


async def _spec(form: FormData) -> bytes:
    spec = form.get("spec")
    if spec is None:
        return b"{}"
    if isinstance(spec, str):
        return spec.encode("utf-8", "surrogatepass")
    if (spec.size or 0) > _MAX_PART_BYTES:
        raise _bad_part("spec", f"has more than {_MAX_PART_BYTES} bytes")
    return await spec.read()


def _file(form: FormData, name: str) -> UploadFile:
    part = form[name]
    if isinstance(part, UploadFile):
        return part
    raise _bad_part(name, "must be a file; give the part a file name")


def _words(form: FormData, name: str) -> tuple[str, ...]:
    """What says how the files are read: one word, or the names of several columns of texts."""
    parts = form.getlist(name)
    if len(parts) > MAX_TEXT_COLUMNS:
        raise _bad_part(name, f"occurs more than {MAX_TEXT_COLUMNS} times")
    words = tuple(part for part in parts if isinstance(part, str))
    if len(words) < len(parts):
        what = _MEANINGS.get(name, "the name of a column")
        raise _bad_part(name, f"must be {what}; send the part without a file name")
    if any(not 0 < len(word) <= MAX_COLUMN_CHARACTERS or NUL in word for word in words):
        raise _bad_part(name, f"must have 1 to {MAX_COLUMN_CHARACTERS} characters, without NUL")
    return words


def _bad_part(name: str, detail: str) -> Unprocessable:
    shown = name[:_SHOWN_CHARACTERS]
    return Unprocessable.at(point(shown), f"`{shown}` {detail}")
