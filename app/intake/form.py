"""Reads the body of a submission, JSON or multipart, without validating its content."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from starlette.datastructures import FormData, UploadFile

from app.errors import STOPPING, Unavailable
from app.intake.admission import Admission
from app.intake.form_parser import MAX_PART_BYTES, arriving, bad_part, parse_form, spool_dir
from app.intake.idempotency import check_key
from app.intake.submissions import SMALL_BYTES, FormSubmission, JsonSubmission, RawSubmission, name_file
from app.intake.weighing import weigh
from app.services import Services
from app.web.request_body import JSON, check_media_type
from lens_engine.task.text_checks import NUL

_FORM = "multipart/form-data"
MAX_COLUMN_CHARACTERS = 200
_COLUMNS, DIALECT_PARTS = ("text_column", "label_column"), ("delimiter", "encoding")
_FILES = ("dataset", "test", "texts")
COLUMN_PARTS = (*_COLUMNS, *DIALECT_PARTS)  #: what says how the files are read
_MOST_TEXT_COLUMNS = 20
_MEANINGS = {"delimiter": "one character", "encoding": "the name of an encoding"}


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
                reading: Any = _read_json(request) if media_type == JSON else _read_files(request, parts)
                submission = await weigh(request, await stack.enter_async_context(reading))
                place = admission.take_place(request.state.owner_id, is_large=submission.is_large)
                await stack.enter_async_context(place)
                yield submission
    except asyncio.CancelledError as error:  # by uvicorn, when it stops and has waited long enough
        raise Unavailable(STOPPING) from error


@asynccontextmanager
async def _read_json(request: Request) -> AsyncIterator[JsonSubmission]:
    services: Services = request.app.state.services
    with SpooledTemporaryFile(max_size=SMALL_BYTES, dir=spool_dir(services)) as body:
        spooled = UploadFile(body)  # type: ignore[arg-type]  # writes to the disk in a thread
        async for chunk in arriving(request):
            await spooled.write(chunk)
        yield JsonSubmission(body, services.settings.max_rows)


@asynccontextmanager
async def _read_files(request: Request, parts: Sequence[str]) -> AsyncIterator[FormSubmission]:
    form = await parse_form(request)
    try:
        yield await _read_form(form, parts)
    finally:
        await form.close()


async def _read_form(form: FormData, parts: Sequence[str]) -> FormSubmission:
    for name, _ in form.multi_items():
        if name not in parts:
            *others, last = parts
            raise bad_part(name, f"is not a known part; the parts are {', '.join(others)} and {last}")
        if len(form.getlist(name)) > 1 and name != "text_column":
            raise bad_part(name, "occurs more than once; send it once")
    uploads = {name: file for name in _FILES if (file := _file(form, name)) is not None}
    files = {name: upload.file for name, upload in uploads.items()}
    names = {name: shown for name, upload in uploads.items() if (shown := name_file(upload.filename or ""))}
    words = {one: _words(form, one) for one in (*_COLUMNS, *DIALECT_PARTS) if one in form}
    columns = {one: words[one] if len(words[one]) > 1 else words[one][0] for one in _COLUMNS if one in words}
    dialect = {one: words[one][0] for one in DIALECT_PARTS if one in words}
    return FormSubmission(await _spec(form), columns=columns, dialect=dialect, names=names, **files)


async def _spec(form: FormData) -> bytes:
    spec = form.get("spec")
    if spec is None:
        return b"{}"
    if isinstance(spec, str):
        return spec.encode("utf-8", "surrogatepass")
    if (spec.size or 0) > MAX_PART_BYTES:
        raise bad_part("spec", f"has more than {MAX_PART_BYTES} bytes")
    return await spec.read()


def _file(form: FormData, name: str) -> UploadFile | None:
    part = form.get(name)
    if part is None or isinstance(part, UploadFile):
        return part
    raise bad_part(name, "must be a file; give the part a file name")


def _words(form: FormData, name: str) -> tuple[str, ...]:
    """What says how the files are read: one word, or the names of several columns of texts."""
    parts = form.getlist(name)
    if len(parts) > _MOST_TEXT_COLUMNS:
        raise bad_part(name, f"occurs more than {_MOST_TEXT_COLUMNS} times")
    return tuple(_check_word(name, part) for part in parts)


def _check_word(name: str, part: UploadFile | str) -> str:
    if not isinstance(part, str):
        raise bad_part(
            name, f"must be {_MEANINGS.get(name, 'the name of a column')}; send the part without a file name"
        )
    if not 0 < len(part) <= MAX_COLUMN_CHARACTERS or NUL in part:
        raise bad_part(name, f"must have 1 to {MAX_COLUMN_CHARACTERS} characters, without NUL")
    return part


async def read_key(
    idempotency_key: Annotated[
        str | None,
        Header(description="Key of this request; a repeated request with the same key gets the first answer."),
    ] = None,
) -> str | None:
    return None if idempotency_key is None else check_key(idempotency_key)


KeyDep = Annotated[str | None, Depends(read_key)]
