"""Route /usage: what the caller has stored and under way, beside the limits."""

from fastapi import APIRouter
from pydantic import Field

from app.dependencies import OWNER_ROUTE, OwnerDep, ServicesDep, SessionDep
from app.ids import PREFIXES
from app.store.stored_bytes import PARTS
from app.usage.service import read_usage
from app.web.openapi import refusals
from app.web.outgoing import Outgoing

router = APIRouter(prefix="/usage", tags=["usage"], dependencies=OWNER_ROUTE)


class StoredBytes(Outgoing):
    """What is stored (bytes)."""

    datasets: int = Field(description="Texts, labels and other cells of datasets and of files to classify.")
    jobs: int = Field(description="Specs, and the answers that evaluations and predictions have or will have.")
    results: int = Field(description="Results and classifiers of selections and evaluations.")
    checkpoints: int = Field(description="Checkpoints of selections that wait, run or can be resumed.")
    prompts: int = Field(description="What names say, in all versions.")
    total: int = Field(description="All of these.")
    limit: int | None = Field(description="The most that you may have stored; null for no limit.")


class KindUsage(Outgoing):
    """Jobs of one kind."""

    kind: str = Field(description="selection, evaluation or prediction.")
    stored: int = Field(description="Jobs in all states.")
    under_way: int = Field(description="Those that are queued or running.")


class UsageOut(Outgoing):
    """What you use of the service."""

    bytes: StoredBytes
    jobs: list[KindUsage] = Field(description="Jobs by kind.")
    under_way_limit: int | None = Field(description="The most jobs under way, of all kinds; null for no limit.")
    names: int = Field(description="Names of prompts.")
    device_seconds: float = Field(description="Time of attempts that ended, on a worker's device (seconds).")


@router.get("", response_description="What you use.", responses=refusals(401, 503))
def get_usage(session: SessionDep, owner: OwnerDep, services: ServicesDep) -> UsageOut:
    """Return what you have stored and under way, and the limits of both."""
    (found,) = read_usage(session, owner)
    settings = services.settings
    return UsageOut(
        bytes=StoredBytes(
            **{part: found.bytes.get(part, 0) for part in PARTS},
            total=found.total_bytes,
            limit=settings.max_owner_bytes,
        ),
        jobs=[
            KindUsage(kind=kind, stored=found.jobs.get(kind, 0), under_way=found.under_way.get(kind, 0))
            for kind in PREFIXES
        ],
        under_way_limit=settings.max_selections,
        names=found.names,
        device_seconds=found.device_seconds,
    )
