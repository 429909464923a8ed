"""Reads the parts of a multipart body as they arrive: whole, in UTF-8, files on the disk."""

import asyncio
from collections.abc import AsyncGenerator
from tempfile import SpooledTemporaryFile

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser

from app.errors import BadRequest, Unprocessable
from app.problems import point
from app.services import Services

MAX_PART_BYTES = 2**20
_BODY_SECONDS, _SLOWEST_BYTES = 60.0, 100_000
"""Time in which a body must arrive (seconds), and bytes that buy another second. A client that sends a byte now and
then would hold its place for ever."""
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_SHOWN_CHARACTERS = 40


async def arriving(request: Request) -> AsyncGenerator[bytes, None]:
    """The body, piece by piece.

    Raises:
        BadRequest: it arrives too slowly.
    """
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
    """Reads a form in UTF-8, spools its files to the folder of the settings, and refuses an incomplete form.

    Starlette would drop the incomplete file and continue, and spool to the system's folder. It would decode parts by
    the codec that the client names, and some codecs of Python take quadratic time or raise errors that Starlette does
    not expect.

    Raises:
        BadRequest: the form has another charset, holds bytes that are not UTF-8, or is incomplete.
    """

    def __init__(self, request: Request) -> None:
        _check_charset(request)
        chunks = self._read_to_the_end(request)
        super().__init__(request.headers, chunks, max_files=3, max_fields=6, max_part_size=MAX_PART_BYTES)
        self._has_ended = False
        self._spool_dir = spool_dir(request.app.state.services)

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if self._current_part.file is not None:
            # The file has no name, so that nothing of it stays when the process is killed.
            file = SpooledTemporaryFile(max_size=self.spool_max_size, dir=self._spool_dir)  # noqa: SIM115
            self._files_to_close_on_error.pop().close()
            self._files_to_close_on_error.append(file)
            self._current_part.file.file = file  # type: ignore[assignment]

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        part = self._current_part
        if part.file is None and len(part.data) + end - start > self.max_part_size:
            raise bad_part(part.field_name, f"has more than {self.max_part_size:,} bytes")
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


def spool_dir(services: Services) -> str | None:
    folder = services.settings.spool_dir
    return None if folder is None else str(folder)


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


async def parse_form(request: Request) -> FormData:
    try:
        return await _WholeFormParser(request).parse()
    except MultiPartException as error:
        raise BadRequest(f"the form cannot be read: {error.message}") from error


def bad_part(name: str, detail: str) -> Unprocessable:
    """The refusal of a part of a form."""
    shown = name[:_SHOWN_CHARACTERS]
    return Unprocessable.at(point(shown), f"`{shown}` {detail}")
