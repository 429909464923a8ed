"""Routes /healthz, /readyz and /models."""

from threading import Event
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from app.dependencies import OWNER_ROUTE, ServicesDep
from app.errors import Unavailable
from app.health.readiness import find_workers, run_checks
from app.problems import ErrorItem
from app.web.draining import DRAINING
from app.web.error_handlers import problem_response
from app.web.openapi import refusals
from app.worker_device import WorkerDevice

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
    workers: list[WorkerDevice] = Field(
        description="Device of each registered worker. For information: the service is ready without workers too.",
        examples=[
            [{"device": "cuda:0", "name": "NVIDIA H200", "memory_bytes": 150_109_880_320, "number_format": "bfloat16"}]
        ],
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
def is_ready(request: Request, services: ServicesDep) -> Readiness | Response:
    """Readiness: Postgres answers, and the database schema is that of this release or newer.

    Without Redis the answer is 200 and `degraded`: submissions are stored and run later. So it is for a minute after a
    write was refused because a disk is full (503 `storage-full`): reads are answered. The answer also tells on what
    each worker computes. Otherwise the answer is 503, and its `errors` name each failed check. A process that was asked
    to stop answers 503 too, and serves all other routes until it stops.
    """
    draining: Event | None = getattr(request.state, DRAINING, None)
    if draining is not None and draining.is_set():
        return problem_response(request.scope, Unavailable("not ready: this process stops"))
    checks = run_checks(services, request.app.state.database_check, request.app.state.full_disk)
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
        workers=[] if checks["redis"].fault else find_workers(services),
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
