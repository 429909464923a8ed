"""Reads the body of a submission, JSON or multipart, without validating its content."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.errors import STOPPING, BadRequest, Unavailable, Unprocessable
from app.intake.admission import Admission
from app.intake.idempotency import check_key
from app.intake.submissions import SMALL_BYTES, FormSubmission, JsonSubmission, RawSubmission, name_file
from app.problems import ErrorItem, point
from app.services import Services
from app.web.request_body import JSON, check_media_type

_FORM = "multipart/form-data"
_MAX_SPEC_BYTES = 2**20
_BODY_SECONDS, _SLOWEST_BYTES = 60.0, 100_000
"""Time in which a body must arrive (seconds), and bytes that buy another second. A client that sends a byte now and
then would hold its place for ever."""
MAX_COLUMN_CHARACTERS = 200
_COLUMNS, DIALECT_PARTS = ("text_column", "label_column"), ("delimiter", "encoding")
_FILES = ("dataset", "test", "texts")
COLUMN_PARTS = (*_COLUMNS, *DIALECT_PARTS)  #: what says how the files are read
_PARTS = frozenset({*_FILES, "spec", *COLUMN_PARTS})
_MEANINGS = {"delimiter": "one character", "encoding": "the name of an encoding"}
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def submission_of(*parts: str) -> Any:
    """Make the dependency that reads a submission, whose form has these parts at most.

    It ends before the response is sent, so that a client that reads slowly holds no place.
    """

    async def read(request: Request) -> AsyncIterator[RawSubmission]:
        async with read_submission(request, parts) as submission:
            yield submission

    return Depends(read, scope="function")


@asynccontextmanager
async def read_submission(request: Request, parts: Sequence[str]) -> AsyncIterator[RawSubmission]:
    """Read a submission, and wait for a place to work on it. Large bodies are spooled to disk and deleted at the end.

    Raises:
        Busy: too many submissions are read or wait.
        Unavailable: the service stops. The submission may be stored.
        UnsupportedMediaType: the body is neither JSON nor a form, or it is compressed.
        BadRequest: the form is malformed or incomplete, or the body arrives too slowly.
        Unprocessable: a part of the form is missing, repeated or unknown.
    """
    media_type = check_media_type(request, JSON, _FORM, send=f"a form ({_FORM}: {', '.join(parts)}) or {JSON}")
    admission: Admission = request.app.state.admission
    try:
        with admission.admit(request.state.owner_id):
            async with AsyncExitStack() as stack:
                reading: AbstractAsyncContextManager[RawSubmission] = (
                    _read_json(request) if media_type == JSON else _read_files(request, parts)
                )
                submission = await stack.enter_async_context(reading)
                await stack.enter_async_context(admission.take_place(is_large=submission.is_large))
                yield submission
    except asyncio.CancelledError as error:  # by uvicorn, when it stops and has waited long enough
        raise Unavailable(STOPPING) from error


async def _arriving(request: Request) -> AsyncGenerator[bytes, None]:
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


@asynccontextmanager
async def _read_json(request: Request) -> AsyncIterator[JsonSubmission]:
    services: Services = request.app.state.services
    with SpooledTemporaryFile(max_size=SMALL_BYTES, dir=_spool_dir(services)) as body:
        spooled = UploadFile(body)  # type: ignore[arg-type]  # writes to the disk in a thread
        async for chunk in _arriving(request):
            await spooled.write(chunk)
        yield JsonSubmission(body, services.settings.max_rows)


@asynccontextmanager
async def _read_files(request: Request, parts: Sequence[str]) -> AsyncIterator[FormSubmission]:
    form = await _parse_form(request)
    try:
        yield await _read_form(form, parts)
    finally:
        await form.close()


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
        super().__init__(request.headers, chunks, max_files=3, max_fields=6, max_part_size=_MAX_SPEC_BYTES)
        self._has_ended = False
        self._spool_dir = _spool_dir(request.app.state.services)

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if self._current_part.file is not None:
            # The file has no name, so that nothing of it stays when the process is killed.
            file = SpooledTemporaryFile(max_size=self.spool_max_size, dir=self._spool_dir)  # noqa: SIM115
            self._files_to_close_on_error.pop().close()
            self._files_to_close_on_error.append(file)
            self._current_part.file.file = file  # type: ignore[assignment]

    def on_part_end(self) -> None:
        part = self._current_part
        if part.file is None:
            self.items.append((part.field_name, _decode(part.field_name, part.data)))
        else:
            super().on_part_end()

    def on_end(self) -> None:
        self._has_ended = True

    async def _read_to_the_end(self, request: Request) -> AsyncGenerator[bytes, None]:
        async for chunk in _arriving(request):
            yield chunk
        if not self._has_ended:
            raise BadRequest("the form ends before its last boundary; send the complete form")


def _spool_dir(services: Services) -> str | None:
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
        detail = f"the part is not UTF-8 (byte {error.start}); write it in UTF-8"
        errors: list[ErrorItem] = [{"detail": detail, "pointer": point(name)}] if name in _PARTS else []
        raise BadRequest(detail, errors=errors) from error


async def _parse_form(request: Request) -> FormData:
    try:
        return await _WholeFormParser(request).parse()
    except MultiPartException as error:
        raise BadRequest(error.message) from error


async def _read_form(form: FormData, parts: Sequence[str]) -> FormSubmission:
    for name, _ in form.multi_items():
        if name not in parts:
            *others, last = parts
            raise _bad_part(name[:40], f"is not a known part; the parts are {', '.join(others)} and {last}")
        if len(form.getlist(name)) > 1:
            raise _bad_part(name, "occurs more than once; send it once")
    uploads = {name: file for name in _FILES if (file := _file(form, name)) is not None}
    files = {name: upload.file for name, upload in uploads.items()}
    names = {name: shown for name, upload in uploads.items() if (shown := name_file(upload.filename or ""))}
    columns, dialect = ({one: _word(form, one) for one in some if one in form} for some in (_COLUMNS, DIALECT_PARTS))
    return FormSubmission(await _spec(form), columns=columns, dialect=dialect, names=names, **files)


async def _spec(form: FormData) -> bytes:
    spec = form.get("spec")
    if spec is None:
        return b"{}"
    if isinstance(spec, str):
        return spec.encode("utf-8", "surrogatepass")
    if (spec.size or 0) > _MAX_SPEC_BYTES:
        raise _bad_part("spec", f"has more than {_MAX_SPEC_BYTES} bytes")
    return await spec.read()


def _file(form: FormData, name: str) -> UploadFile | None:
    part = form.get(name)
    if part is None or isinstance(part, UploadFile):
        return part
    raise _bad_part(name, "must be a file; give the part a file name")


def _word(form: FormData, name: str) -> str:
    """What says how the files are read."""
    part = form.get(name)
    if not isinstance(part, str):
        raise _bad_part(
            name, f"must be {_MEANINGS.get(name, 'the name of a column')}; send the part without a file name"
        )
    if not 0 < len(part) <= MAX_COLUMN_CHARACTERS:
        raise _bad_part(name, f"must have 1 to {MAX_COLUMN_CHARACTERS} characters")
    return part


def _bad_part(name: str, detail: str) -> Unprocessable:
    return Unprocessable.at(point(name), f"`{name}` {detail}")


async def read_key(
    idempotency_key: Annotated[
        str | None,
        Header(description="Key of this request; a repeated request with the same key gets the first answer."),
    ] = None,
) -> str | None:
    return None if idempotency_key is None else check_key(idempotency_key)


KeyDep = Annotated[str | None, Depends(read_key)]
