"""SQL of API keys for requests. All times come from the database's clock."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Float, cast, exists, extract, func, literal, or_, select, update
from sqlalchemy.orm import Session

from app.models import ApiKey

_USE_INTERVAL = timedelta(seconds=50)


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A key that is neither revoked nor expired."""

    id: str
    owner_id: str
    sha256: str
    seconds_left: float | None  #: time until it expires (seconds); None for a key without an end


def list_live_keys(session: Session) -> list[LiveKey]:
    """Return all keys that are neither revoked nor expired."""
    left = cast(extract("epoch", ApiKey.expires_at - func.now()), Float)
    statement = select(ApiKey.id, ApiKey.owner_id, ApiKey.sha256, left).where(
        ApiKey.revoked_at.is_(None), or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now())
    )
    return [LiveKey(*row) for row in session.execute(statement)]


def has_keys(session: Session) -> bool:
    """Whether a key was ever made. A revoked or expired key counts."""
    return bool(session.scalar(select(exists(select(literal(1)).select_from(ApiKey)))))


def record_use(session: Session, key_id: str) -> None:
    """Note that a key was used, unless another process has just done so."""
    is_old = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < func.now() - _USE_INTERVAL)
    session.execute(update(ApiKey).where(ApiKey.id == key_id, is_old).values(last_used_at=func.now()))
