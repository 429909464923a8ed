"""Builds the FastAPI application from settings, routers and middleware."""

import asyncio
import contextlib
import logging
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cachetools import TTLCache
from fastapi import FastAPI
from prometheus_client import CollectorRegistry, ProcessCollector
from sqlalchemy.exc import SQLAlchemyError

from app.answers import files as answered_files
from app.answers import label_suggestions
from app.answers.answering import AnswersClient
from app.answers.answers import Indexes
from app.answers.classifying import Classifying
from app.answers.schemas import RenderBody
from app.answers.selection_endpoints import router as answers_router
from app.lifecycle.sweep import Settling, sweep
from app.logs import summarize
from app.operations.health import router as health_router
from app.operations.metrics import ProcessMetrics, ServiceState
from app.operations.metrics import router as metrics_router
from app.pages import creation, prompts, results, rows
from app.pages import selections as pages_of_selections
from app.pages.shell import Assets, ShellMiddleware
from app.prompts import answer_endpoints
from app.prompts.endpoints import MOST_POOLS
from app.prompts.endpoints import router as prompts_router
from app.prompts.schemas import ExamplesBody, PromptBody
from app.selections import dataset_endpoints as datasets
from app.selections import endpoints as selections
from app.selections.form import sweep_uploads
from app.selections.reader import Reader
from app.selections.receiving import Admission
from app.settings import Settings
from app.store.database import create_database
from app.store.keys import KeyLookup
from app.store.queue import JobQueue
from app.store.services import Services
from app.web.access_log import AccessLogMiddleware, RequestIdMiddleware, RequestMetrics
from app.web.authentication import LOCAL_OWNER, AuthenticationMiddleware
from app.web.draining import DRAINING
from app.web.error_handlers import install_error_handlers
from app.web.middleware import BodyLimitMiddleware, LoopbackMiddleware
from app.web.openapi import install_documentation
from app.web.parameters import PAGE_ASSETS
from lens_engine import __version__

_DESCRIPTION = """
Lens finds the labelled examples that, put into a prompt, make a language model classify best. `POST /selections` takes
labelled rows and a description of the task; a worker then searches.

**Polling.** Repeat `GET /selections/{selection_id}` until `status` is `succeeded`, `failed` or `cancelled`. Wait
`Retry-After` seconds between requests. Send the last `ETag` as `If-None-Match`; the answer is 304 if nothing changed.

**Keys.** If the service has API keys, send `Authorization: Bearer <key>`. You see only the selections of your key's
owner. A service without API keys needs no header, checks none (its answers have `Lens-Authentication: off`), and
accepts requests from localhost only.

**Errors.** Every error is a problem (RFC 9457) of media type `application/problem+json`.
"""
_ABOUT: dict[str, Any] = {
    "title": "Lens",
    "version": __version__,
    "summary": "Finds the support examples of a text-classification task.",
    "description": _DESCRIPTION.strip(),
    "license_info": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    "redirect_slashes": False,
    "generate_unique_id_function": lambda route: route.name,  # short names of methods in generated clients
    "docs_url": None,
    "openapi_url": None,
    "redoc_url": None,
}
_ROUTERS = (
    datasets.router,
    selections.router,
    answers_router,
    label_suggestions.router,
    prompts_router,
    answer_endpoints.selections,
    answer_endpoints.prompts,
    health_router,
    metrics_router,
    creation.router,
    results.router,
    rows.router,
    pages_of_selections.router,
    prompts.router,
)
_BODIES = (datasets, selections, answered_files, label_suggestions)
_log = logging.getLogger(__name__)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Create the application, e.g. for `uvicorn --factory app.main:create_app`. This opens no connection."""
    settings = settings or Settings()
    app = FastAPI(lifespan=_lifespan, **_ABOUT)
    database = create_database(settings)
    app.state.services = Services(settings, database, JobQueue(settings))
    app.state.probing = ThreadPoolExecutor(1, "lens-readiness")
    app.state.suggestions = TTLCache(maxsize=200, ttl=600)
    app.state.indexes = Indexes(settings.max_index_mib * 2**20)
    app.state.keys = KeyLookup(database, settings.key_cache_seconds)
    app.state.admission = Admission(
        settings.max_submissions, settings.max_waiting_submissions, None if settings.require_keys else LOCAL_OWNER
    )
    app.state.pool_turns, app.state.pool_places = defaultdict(asyncio.Lock), asyncio.Semaphore(MOST_POOLS)
    for router in _ROUTERS:
        app.include_router(router)
    request_metrics = _install_metrics(app)
    app.state.answers = AnswersClient(settings)
    app.state.classifying = Classifying(app.state.answers, settings.max_index_mib << 20)
    app.state.reader = Reader(settings, app.state.process_metrics.reader_ends.inc)
    install_documentation(
        app,
        models=(*(model for one in _BODIES for model in one.MODELS), RenderBody, PromptBody, ExamplesBody),
        others={name: schema for one in _BODIES for name, schema in one.SCHEMAS.items()},
    )
    app.mount(PAGE_ASSETS.rstrip("/"), Assets())
    install_error_handlers(app)
    # The middleware added last sees a request first.
    app.add_middleware(BodyLimitMiddleware, settings=settings)
    app.add_middleware(AuthenticationMiddleware, settings=settings, keys=app.state.keys)
    app.add_middleware(ShellMiddleware)
    app.add_middleware(LoopbackMiddleware, settings=settings)
    app.add_middleware(AccessLogMiddleware, metrics=request_metrics)
    app.add_middleware(RequestIdMiddleware)
    return app


def _install_metrics(app: FastAPI) -> RequestMetrics:
    """Make the registry that /metrics shows. Each application has its own."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(ServiceState(app.state.services))
    app.state.registry = registry
    app.state.process_metrics = ProcessMetrics(registry, app.state.services)
    return RequestMetrics(registry)


def close_app(app: FastAPI) -> None:
    """Close what an app holds, processes and connections; its lifespan does so at its end."""
    services: Services = app.state.services
    app.state.reader.close()
    app.state.indexes.close()
    app.state.classifying.close()
    for threads in (services.enqueuers, app.state.probing):
        threads.shutdown(cancel_futures=True)
    services.queue.close()
    app.state.keys.close()
    services.database.dispose()


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, threading.Event]]:
    services: Services = app.state.services
    await asyncio.to_thread(sweep_uploads, services.settings.spool_dir)
    stopping = asyncio.Event()
    sweeping = asyncio.create_task(
        sweep_until(stopping, services, app.state.process_metrics.last_sweep.set_to_current_time)
    )
    try:
        yield {DRAINING: threading.Event()}
    finally:
        stopping.set()
        await sweeping  # a running sweep holds a connection
        await app.state.answers.close()
        close_app(app)


async def sweep_until(
    stopping: asyncio.Event, services: Services, note_sweep: Callable[[], None] = lambda: None
) -> None:
    """Sweep at every interval. Never raises, because only the sweep retries crashed jobs."""
    settling = Settling(services.settings.lease_seconds)

    def act() -> None:
        sweep(services.database, services.queue, services.settings, settling)
        note_sweep()

    while not stopping.is_set():
        try:
            await asyncio.to_thread(act)
        except SQLAlchemyError as error:
            _log.warning("the sweep could not reach the database; the next sweep tries again (%s)", summarize(error))
        except Exception:  # noqa: BLE001 - nothing may end all retries
            _log.exception("the sweep failed; the next sweep tries again", extra={"action": "sweep-failed"})
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), services.settings.sweep_interval_seconds)
