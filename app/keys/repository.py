"""SQL of API keys for requests. All times come from the database's clock."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import exists, func, literal, or_, select, update
from sqlalchemy.orm import Session

from app.store.tables import ApiKey

_USE_INTERVAL = timedelta(minutes=1)
_IS_USE_OLD = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < func.now() - _USE_INTERVAL)


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A key that is neither revoked nor expired. `is_use_old`: its last use was noted more than a minute ago."""

    id: str
    owner_id: str
    name: str
    is_use_old: bool


def find_live_key(session: Session, sha256: str) -> LiveKey | None:
    """Return the key with this hash, unless it is revoked or expired."""
    is_live = ApiKey.revoked_at.is_(None), or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now())
    statement = select(ApiKey.id, ApiKey.owner_id, ApiKey.name, _IS_USE_OLD).where(ApiKey.sha256 == sha256, *is_live)
    row = session.execute(statement).one_or_none()
    return None if row is None else LiveKey(*row)


def has_keys(session: Session) -> bool:
    """Whether a key was ever made. A revoked or expired key counts."""
    return bool(session.scalar(select(exists(select(literal(1)).select_from(ApiKey)))))


def record_use(session: Session, key_id: str) -> None:
    """Note that a key was used, unless another process has just done so."""
    session.execute(update(ApiKey).where(ApiKey.id == key_id, _IS_USE_OLD).values(last_used_at=func.now()))
