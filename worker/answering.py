"""`lens answers`: a process that holds models, and answers at once what the API asks over HTTP. It has no store.

`python -m worker.answering HOST PORT` starts it. A subject is sent once, and asked by its digest. Errors are problems,
as those of the API.
"""

import asyncio
import hmac
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from threading import Event

from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.answers.answering import Answering, unless_gone
from app.answers.models import Models
from app.answers.remote import PREDICTIONS, Subject, weigh_subject
from app.errors import (
    AppError,
    ContentTooLarge,
    NotFound,
    NotLocal,
    Unauthorized,
    Unprocessable,
    make_internal_error,
    problem,
)
from app.held_values import HeldValues
from app.logs import configure_logging, summarize
from app.model_settings import is_loopback
from app.settings import Settings
from app.web.draining import DRAINING, DrainingServer, configure_server
from lens_engine.evaluation.batches import BATCH_ROWS
from worker.inspection import Device, UnfitWorker, find_device, weigh_models
from worker.model_loading import Weights

EXIT_FAILED, EXIT_UNFIT = 1, 2
_GRACE_SECONDS = 5
_MOST_FAULTS = 3
"""Batches in a row that end by an unexpected error: then the device may be broken, and a new process may help."""

_SHARE = 0.5
"""Of the memory of the device, which weights take where the settings say nothing."""

_MOST_TEXT_BYTES = 4 * 131_072 * BATCH_ROWS
"""Largest body with texts: as many as are asked at once, each as long as the settings of the API may allow."""

Handler = Callable[[Request], Awaitable[Response]]
_log = logging.getLogger(__name__)


def main(host: str, port: int) -> int:
    """Answer until a signal, and return the exit code."""
    settings = Settings()
    configure_logging(settings.log_level, settings.log_format)
    try:
        device = _inspect(settings, host)
    except UnfitWorker as refusal:
        _log.critical("the process that answers at once does not start: %s", refusal)
        return EXIT_UNFIT
    # A cluster has its actors for selections. A device that was lost must not become the processor.
    settings = settings.model_copy(update={"ray_address": None, "device": device.torch_name})
    server = make_server(settings, device, host, port)
    server.run()
    return 0 if server.started and not server.has_failed else EXIT_FAILED


def _inspect(settings: Settings, host: str) -> Device:
    """Check the address, the models and the device."""
    if settings.answers_token is None and not is_loopback(host):
        raise UnfitWorker(f"without LENS_ANSWERS_TOKEN it listens on this machine only (127.0.0.1), not on {host}")
    if not settings.allowed_models:
        raise UnfitWorker("LENS_ALLOWED_MODELS names no model; the API itself asks those behind servers")
    weigh_models(settings)
    return find_device(settings)


class Server(DrainingServer):
    """Ends by itself when too many batches fail."""

    has_failed = False

    def note_fault(self, in_a_row: int) -> None:
        if in_a_row >= _MOST_FAULTS:
            self.has_failed = self.should_exit = True


def make_server(settings: Settings, device: Device, host: str, port: int) -> Server:
    most_bytes = _find_most_bytes(settings, device)
    models = Models(Weights(settings), most_bytes)
    _log.info("answers at once on %s, with at most %d MiB of weights", device, most_bytes >> 20)
    answering = Answering(models, note_fault=lambda number: server.note_fault(number))
    app = AnsweringServer(answering, models, settings.max_index_mib << 20, settings.answers_token).make_app()
    server = Server(configure_server(app, host, port, _GRACE_SECONDS), drain_seconds=0.0)
    return server


def _find_most_bytes(settings: Settings, device: Device) -> int:
    """How much memory weights may take."""
    if settings.answers_memory_mib is not None:
        return settings.answers_memory_mib << 20
    from lens_engine.model.local.memory import machine_bytes  # imports torch

    return int(_SHARE * (device.total_bytes or machine_bytes()))


class Question(BaseModel):
    """The texts of a request."""

    texts: list[str] = Field(min_length=1, max_length=BATCH_ROWS)


class AnsweringServer:
    """The application.

    Args:
        most_bytes: of the subjects that it holds.
        token: that a request needs; None if it needs none, and comes from this machine.
    """

    def __init__(self, answering: Answering, models: Models, most_bytes: int, token: str | None) -> None:
        self._answering, self._models = answering, models
        self._most_bytes, self._token = most_bytes, token
        self._subjects = HeldValues[str, Subject](most_bytes, weigh_subject, "lens-subjects")

    def make_app(self) -> Starlette:
        routes = [
            Route("/subjects/{digest}", self._guard(self._put_subject), methods=["PUT"]),
            Route("/subjects/{digest}/answers", self._guard(self._ask), methods=["POST"]),
            Route("/healthz", self._tell_health),
        ]
        handlers = {AppError: _answer_problem, Exception: _answer_unexpected, ClientDisconnect: _answer_nobody}
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=self._live)

    @asynccontextmanager
    async def _live(self, _: Starlette) -> AsyncIterator[dict[str, Event]]:
        yield {DRAINING: Event()}
        self._subjects.close()
        self._answering.close()

    def _guard(self, handle: Handler) -> Handler:
        async def handle_known(request: Request) -> Response:
            self._check_caller(request)
            return await handle(request)

        return handle_known

    def _check_caller(self, request: Request) -> None:
        """Refuse a request without the token, or where there is none, one that a page in a browser may have sent."""
        if self._token is None:
            if not is_loopback(request.url.hostname or "") or "Origin" in request.headers:
                raise NotLocal("without LENS_ANSWERS_TOKEN this process answers programs of this machine only")
            return
        given = request.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {self._token}".encode()):
            raise Unauthorized("the token is not that of this process; LENS_ANSWERS_TOKEN must be the same for both")

    async def _put_subject(self, request: Request) -> Response:
        digest, content = request.path_params["digest"], await _read_body(request, self._most_bytes)

        def read() -> Subject:
            subject = Subject.read(content)
            if subject.digest != digest:
                raise Unprocessable("the digest is not that of the body")
            return subject

        try:
            await self._subjects.find_or_make(digest, read)
        except ValidationError as error:
            raise Unprocessable(f"the body is no classifier that this release can read ({summarize(error)})") from None
        return Response(status_code=204)

    async def _ask(self, request: Request) -> Response:
        content = await _read_body(request, _MOST_TEXT_BYTES)
        subject = self._subjects.held(request.path_params["digest"])
        if subject is None:
            raise NotFound("there is no such subject; send it first")
        try:
            question = Question.model_validate_json(content)
        except ValidationError:
            raise Unprocessable(f"the body must be an object with 1 to {BATCH_ROWS} texts") from None
        answer = asyncio.wrap_future(self._answering.ask(subject, question.texts))
        found = await unless_gone(request, answer)
        return Response(PREDICTIONS.dump_json(found), media_type="application/json")

    async def _tell_health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "models": self._models.names})


async def _read_body(request: Request, most_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise ContentTooLarge(f"the body has more than {most_bytes:,} bytes")
    return bytes(body)


async def _answer_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)
    body = problem(error.code, error.detail, status=error.status, instance=request.url.path)
    return JSONResponse(body, error.status, error.headers, media_type="application/problem+json")


async def _answer_unexpected(request: Request, error: Exception) -> Response:
    _log.error("unexpected %s", summarize(error), extra={"action": "internal-error"})
    return await _answer_problem(request, make_internal_error())


async def _answer_nobody(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], int(sys.argv[2])))
