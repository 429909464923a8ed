"""What owners use: bytes, jobs and names, beside what the settings allow."""

from dataclasses import dataclass, field

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from app.metrics.counters import DEVICE_SECONDS
from app.store.states import UNDER_WAY
from app.store.stored_bytes import read_stored_bytes
from app.store.tables import Job, Prompt, StoredCounter


@dataclass(slots=True)
class Usage:
    """What one owner uses."""

    owner_id: str
    bytes: dict[str, int] = field(default_factory=dict)  #: by part (`app.store.stored_bytes`)
    jobs: dict[str, int] = field(default_factory=dict)  #: stored, by kind
    under_way: dict[str, int] = field(default_factory=dict)  #: queued or running, by kind
    names: int = 0  #: that are not deleted
    device_seconds: float = 0.0  #: of attempts that ended

    @property
    def total_bytes(self) -> int:
        return sum(self.bytes.values())


def read_usage(session: Session, owner_id: str | None = None) -> list[Usage]:
    """Read the usage of every owner, the largest first, or of one owner, who may have nothing."""
    found: dict[str, Usage] = {} if owner_id is None else {owner_id: Usage(owner_id)}

    def of(name: str) -> Usage:
        return found.setdefault(name, Usage(name))

    for name, parts in read_stored_bytes(session, owner_id).items():
        of(name).bytes = parts
    waiting = func.sum(case((Job.status.in_(UNDER_WAY), 1), else_=0))
    jobs = select(Job.owner_id, Job.kind, func.count(), waiting).group_by(Job.owner_id, Job.kind)
    names = select(Prompt.owner_id, func.count()).where(~Prompt.is_deleted).group_by(Prompt.owner_id)
    seconds = select(StoredCounter.label, StoredCounter.value).where(StoredCounter.name == DEVICE_SECONDS)
    if owner_id is not None:
        jobs, names = jobs.where(Job.owner_id == owner_id), names.where(Prompt.owner_id == owner_id)
        seconds = seconds.where(StoredCounter.label == owner_id)
    for name, kind, stored, under_way in session.execute(jobs):
        of(name).jobs[kind], of(name).under_way[kind] = stored, int(under_way)
    for name, count in session.execute(names):
        of(name).names = count
    for name, value in session.execute(seconds):
        of(name).device_seconds = value
    return sorted(found.values(), key=lambda one: (-one.total_bytes, one.owner_id))
