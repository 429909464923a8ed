"""Routes /healthz, /readyz and /models."""

import asyncio
from dataclasses import dataclass
from threading import Event
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from app.errors import ErrorItem, Unavailable
from app.store.schema import current_revision, own_revisions
from app.store.services import Services
from app.web.dependencies import OWNER_ROUTE, ServicesDep
from app.web.draining import DRAINING
from app.web.error_handlers import problem_response
from app.web.openapi import refusals

ANSWER_SECONDS = 5.0
"""Time that a probe waits for Postgres: as long as a request waits for a connection."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found. `fault` is None if the part is as it should be."""

    fault: str | None = None
    is_fatal: bool = False  #: whether the process cannot serve requests


async def check_database(request: Request) -> dict[str, Check]:
    """Ask Postgres for its schema, in one thread for all probes: a frozen server keeps its client for many seconds."""
    state = request.app.state

    def ask() -> str | None:
        with state.services.database.session_scope() as session:
            return current_revision(session.connection())

    try:
        asking = asyncio.get_running_loop().run_in_executor(state.probing, ask)
        found = await asyncio.wait_for(asking, ANSWER_SECONDS)
    except (SQLAlchemyError, TimeoutError):
        fault = Check("does not answer", is_fatal=True)
        return {"database": fault, "migrations": Check("unknown", is_fatal=True)}
    return {"database": Check(), "migrations": _check_revision(found)}


def _check_revision(found: str | None) -> Check:
    """Compare the revision of the database with this release.

    The migration comes before the new processes. A revision that this release does not know is therefore newer, and
    the processes of this release serve until they are replaced.
    """
    *older, own = own_revisions()
    if found == own:
        return Check()
    if found is None or found in older:
        return Check(f"the schema is at revision {found}; this release needs {own}", is_fatal=True)
    return Check(f"the schema is at revision {found}, newer than {own} of this release: an upgrade is under way")


def _check_redis(services: Services) -> Check:
    try:
        services.queue.ping()
    except RedisError:
        return Check("does not answer; submissions are stored and run later")
    return Check()


def _check_workers(services: Services) -> Check:
    settings, counts = services.settings, services.queue.count_workers()
    if counts is None or all(counts.values()):
        return Check()
    if not any(counts.values()):
        return Check("0: no worker is registered; submissions wait until one is started")
    kind = "weights" if counts.get(settings.queue_name) == 0 else "endpoints"
    return Check(f"0 with LENS_WORKER_MODELS={kind}: submissions for its models wait until one is started")


router = APIRouter()


class Health(BaseModel):
    """Answer of a live process."""

    status: Literal["ok"] = Field("ok", description="Always ok.")


class Readiness(BaseModel):
    """Checks of a ready service by name."""

    status: Literal["ready", "degraded"] = Field(
        description="`degraded` if a check found a fault that does not keep the service from answering requests."
    )
    checks: dict[str, str] = Field(
        description="Result of each check, by name: `ok`, or what is wrong.",
        examples=[{"database": "ok", "migrations": "ok", "redis": "ok"}],
    )


class ModelOut(BaseModel):
    """A language model that the service offers."""

    name: str = Field(description="Value for `model` in a spec.")
    is_default: bool = Field(description="True if specs without `model` use this model.")


class ModelList(BaseModel):
    """All language models that the service offers."""

    items: list[ModelOut] = Field(description="Models, in the order of the settings.")


@router.get("/healthz", tags=["health"], response_description="The process answers.")
async def is_alive() -> Health:
    """Liveness: the process answers."""
    return Health()


@router.get(
    "/readyz",
    tags=["health"],
    response_model=Readiness,
    response_description="The service answers requests.",
    responses=refusals(503),
)
def is_ready(
    request: Request, services: ServicesDep, of_database: Annotated[dict[str, Check], Depends(check_database)]
) -> Readiness | Response:
    """Readiness: Postgres answers, and the database schema is that of this release or newer.

    Without Redis the answer is 200 and `degraded`: submissions are stored and run later. Otherwise the answer is 503,
    and its `errors` name each failed check. A process that was asked to stop answers 503 too, and serves all other
    routes until it stops.
    """
    draining: Event | None = getattr(request.state, DRAINING, None)
    if draining is not None and draining.is_set():
        return problem_response(request.scope, Unavailable("not ready: this process stops"))
    # Only Postgres is needed to serve requests. Without Redis, a submission is stored and runs later.
    checks = {**of_database, "redis": _check_redis(services), "workers": _check_workers(services)}
    fatal = {name: check.fault for name, check in checks.items() if check.is_fatal}
    if fatal:
        errors: list[ErrorItem] = [
            {"detail": f"{name}: {fault}", "pointer": f"/checks/{name}"} for name, fault in fatal.items()
        ]
        refusal = Unavailable(f"not ready: {', '.join(fatal)}", errors=errors)
        return problem_response(request.scope, refusal)
    is_degraded = any(check.fault for check in checks.values())
    return Readiness(
        status="degraded" if is_degraded else "ready",
        checks={name: check.fault or "ok" for name, check in checks.items()},
    )


@router.get(
    "/models",
    tags=["models"],
    response_description="All models that the service offers.",
    responses=refusals(400, 401, 503),
    dependencies=OWNER_ROUTE,
)
async def list_models(services: ServicesDep) -> ModelList:
    """Models that a spec can name."""
    settings = services.settings
    return ModelList(
        items=[ModelOut(name=name, is_default=name == settings.default_model) for name in settings.offered_models]
    )
