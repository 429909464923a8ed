"""Receives the body of a submission, waits for a place to work on it, and does the work: here, or in the reader."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request
from pydantic import AfterValidator
from sqlalchemy import func, select
from starlette.concurrency import run_in_threadpool

from app.errors import STOPPING, Unavailable
from app.selections.bodies import Body, FormBody, JsonBody, JsonFile, parse_body
from app.selections.form import arriving, open_upload, parse_form, read_parts
from app.selections.reader import Reader, bounded
from app.selections.submission import check_key
from app.settings import Settings
from app.store.services import Services
from app.store.tables import Dataset
from app.web.request_body import JSON, check_media_type


class Admission:
    """Admits submissions to one process."""

    def __init__(self, num_places: int, num_waiting: int, sole_owner: str | None = None) -> None:
        """`sole_owner`: may have all places; every other owner has half of them at most."""
        self._sole_owner = sole_owner
        self._places, self._large_place = asyncio.Semaphore(num_places), asyncio.Lock()
        self._most_large, self._num_large = max(1, num_waiting), 0
        self._most = num_places + num_waiting
        self._admitted = Counter[str]()

    @property
    def num_waiting(self) -> int:
        """Number of large ones that wait for their place."""
        return self._num_large - self._large_place.locked()

    @contextmanager
    def admit(self, owner_id: str) -> Iterator[None]:
        """Admit one submission until the block ends. Enter the block before the body is read.

        Raises Unavailable if as many as allowed are admitted already, of all owners or of this one.
        """
        most = self._most if owner_id == self._sole_owner else -(-self._most // 2)
        if self._admitted.total() >= self._most or self._admitted[owner_id] >= most:
            raise Unavailable(
                "too many submissions arrive at once, and nothing of this one was read; repeat the request later",
                code="busy",
            )
        self._admitted[owner_id] += 1
        try:
            yield
        finally:
            self._admitted[owner_id] -= 1
            self._admitted += Counter()  # forgets owners without a submission

    @asynccontextmanager
    async def take_place(self, *, is_large: bool) -> AsyncIterator[None]:
        """Wait for a place to work on a submission, and hold it until the block ends.

        Large ones are done in one process, one after another; small ones do not wait for them. Enter the block after
        the body was read, so that a slow client holds no place.
        Raises Unavailable if as many large ones wait as may.
        """
        if not is_large:
            async with self._places:
                yield
            return
        if self._num_large >= self._most_large:
            raise Unavailable(
                "too many large submissions wait, and nothing of this one was stored; repeat the request later",
                code="busy",
            )
        self._num_large += 1
        try:
            async with self._large_place:
                yield
        finally:
            self._num_large -= 1


_FORM = "multipart/form-data"
SMALL_BYTES = 64 * 1024
"""Largest submission that is worked on beside other requests (bytes). A larger one takes tens of milliseconds. A small
archive may unpack to any size."""
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Upload:
    """A body that was received, whose it is, and where to work on it."""

    services: Services
    reader: Reader
    owner_id: str
    body: Body | JsonFile
    is_large: bool

    def do(self, work: Callable[..., _Found], *given: Any) -> _Found:
        """Do `work(services, owner id, body, *given)`: here, or pickled in the reader. Raises as `Reader.run`."""
        if self.is_large:
            found: _Found = self.reader.run(_do_within_bounds, work, self.owner_id, self.body, *given)
            return found
        return _parse_and_do(self.services, work, self.owner_id, self.body, *given)


def _do_within_bounds(*arguments: Any) -> Any:
    with bounded():
        return _parse_and_do(*arguments)


def _parse_and_do(
    services: Services, work: Callable[..., _Found], owner_id: str, body: Body | JsonFile, *given: Any
) -> _Found:
    body = body.parse(services.settings.max_rows) if isinstance(body, JsonFile) else body
    return work(services, owner_id, body, *given)


def receive(*parts: str) -> Any:
    """Make the dependency that receives a body, whose form has these parts at most, and waits for a place to work.

    It ends before the response is sent, so that a client that reads slowly holds no place. The files are deleted then.
    """

    async def read(request: Request) -> AsyncIterator[Upload]:
        media_type = check_media_type(request, JSON, _FORM, send=f"a form ({_FORM}: {', '.join(parts)}) or {JSON}")
        try:
            with request.app.state.admission.admit(request.state.owner_id):
                reading = _receive_json(request) if media_type == JSON else _receive_form(request, parts)
                async with reading as (body, num_bytes), hold_place(request, body, num_bytes) as upload:
                    yield upload
        except asyncio.CancelledError as error:  # by uvicorn, when it stops and has waited long enough
            raise Unavailable(STOPPING) from error

    return Depends(read, scope="function")


@asynccontextmanager
async def hold_place(request: Request, body: Body | JsonFile, num_bytes: int) -> AsyncIterator[Upload]:
    """Wait for a place to work on an admitted body of this size, and hold it. Raises Unavailable if too many wait."""
    state, owner_id = request.app.state, request.state.owner_id
    is_large = num_bytes > SMALL_BYTES or (isinstance(body, FormBody) and body.has_binary_file)
    if isinstance(body, JsonBody) and not is_large:
        is_large = await run_in_threadpool(_names_large_dataset, state.services, owner_id, body)
    async with state.admission.take_place(is_large=is_large):
        yield Upload(state.services, state.reader, owner_id, body, is_large)


def _names_large_dataset(services: Services, owner_id: str, body: JsonBody) -> bool:
    """Whether a body names datasets of its owner that are large: their rows are read to check that the spec fits."""
    fields = body.value if isinstance(body.value, dict) else {}
    ids = [id_ for name in ("dataset_id", "test_dataset_id") if isinstance(id_ := fields.get(name), str)]
    if not ids:
        return False
    named = (Dataset.owner_id == owner_id, Dataset.id.in_(ids))
    with services.database.session_scope() as session:
        return int(session.scalar(select(func.sum(Dataset.num_bytes)).where(*named)) or 0) > SMALL_BYTES


@asynccontextmanager
async def _receive_json(request: Request) -> AsyncIterator[tuple[JsonBody | JsonFile, int]]:
    """JSON and its size. Large JSON is a file, which is parsed by who works on it."""
    settings: Settings = request.app.state.services.settings
    start, file = bytearray(), None
    with ExitStack() as files:
        async for chunk in arriving(request):
            if file is None and len(start) + len(chunk) <= SMALL_BYTES:
                start += chunk
                continue
            if file is None:
                file = files.enter_context(open_upload(settings.spool_dir))
                file.write(start)
            await run_in_threadpool(file.write, chunk)
        if file is None:
            yield await run_in_threadpool(parse_body, bytes(start), settings.max_rows), len(start)
        else:
            file.flush()
            yield JsonFile(Path(file.name)), file.tell()


@asynccontextmanager
async def _receive_form(request: Request, parts: Sequence[str]) -> AsyncIterator[tuple[FormBody, int]]:
    form = await parse_form(request, request.app.state.services.settings.spool_dir)
    try:
        body = await read_parts(form, parts)
        yield body, len(body.raw_spec) + sum(path.stat().st_size for path in body.files.values())
    finally:
        await form.close()


async def do_large(request: Request, work: Callable[..., _Found], *arguments: Any) -> _Found:
    """Do `work(services, owner id, *arguments)`, which no submission brings, in the reader, after what came before."""
    state, owner_id = request.app.state, request.state.owner_id
    with state.admission.admit(owner_id):
        async with state.admission.take_place(is_large=True):
            return await run_in_threadpool(state.reader.run, work, owner_id, *arguments)


KeyDep = Annotated[
    Annotated[str, AfterValidator(check_key)] | None,
    Header(
        alias="Idempotency-Key",
        description="Key of this request; a repeated request with the same key gets the first answer.",
    ),
]
