"""SQL of API keys. All times come from the database's clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Float, cast, exists, extract, func, insert, literal, or_, select, update
from sqlalchemy.orm import Session

from app.ids import new_id
from app.models import ApiKey

_USE_INTERVAL = timedelta(seconds=50)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to store. `expires_in` is None for a key without an end."""

    owner_id: str
    name: str
    prefix: str
    sha256: str
    expires_in: timedelta | None


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A key that is neither revoked nor expired."""

    id: str
    owner_id: str
    sha256: str
    seconds_left: float | None  #: time until it expires (seconds); None for a key without an end


def insert_key(session: Session, new: NewKey) -> ApiKey:
    """Store a key."""
    statement = insert(ApiKey).values(
        id=new_id("key"),
        owner_id=new.owner_id,
        name=new.name,
        prefix=new.prefix,
        sha256=new.sha256,
        expires_at=None if new.expires_in is None else func.now() + new.expires_in,
    )
    return session.execute(statement.returning(ApiKey)).scalar_one()


def list_keys(session: Session) -> Sequence[ApiKey]:
    """Return all keys, also revoked and expired ones, by owner and age."""
    return session.scalars(select(ApiKey).order_by(ApiKey.owner_id, ApiKey.id)).all()


def find_key(session: Session, key_id: str) -> ApiKey | None:
    return session.get(ApiKey, key_id)


def revoke_key(session: Session, key_id: str) -> bool:
    """Revoke a key. Returns False if there is no such key or it was revoked before."""
    statement = update(ApiKey).where(ApiKey.id == key_id, ApiKey.revoked_at.is_(None)).values(revoked_at=func.now())
    return session.scalar(statement.returning(ApiKey.id)) is not None


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
