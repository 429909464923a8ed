"""What an operator does with API keys. All times come from the database's clock."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import func, insert, select, update

from app.ids import new_id
from app.keys.lookup import has_keys
from app.keys.secret import hash_key, make_secret, prefix_of
from app.setting_types import OWNER_FORM
from app.store.database import Database
from app.store.tables import ApiKey

_MAX_NAME_CHARACTERS = 100


class KeyRefused(ValueError):
    """The key cannot be made or revoked; the message says why."""


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key. `secret` is shown to the operator once and stored nowhere. The first one closes an open service."""

    row: ApiKey
    is_first: bool
    secret: str = field(repr=False)


def create_key(database: Database, owner_id: str, name: str, days: int | None = None) -> MadeKey:
    """Make a key of an owner, which expires after `days` days or never.

    Raises:
        KeyRefused: the name of the owner or of the key cannot be used.
    """
    if not OWNER_FORM.fullmatch(owner_id):
        raise KeyRefused("an owner must have 1 to 100 letters, digits, dots, dashes or underscores")
    if not 0 < len(name.strip()) <= _MAX_NAME_CHARACTERS or not name.isprintable():
        raise KeyRefused(f"a name must have 1 to {_MAX_NAME_CHARACTERS} printable characters")
    secret = make_secret()
    statement = insert(ApiKey).values(
        id=new_id("key"),
        owner_id=owner_id,
        name=name.strip(),
        prefix=prefix_of(secret),
        sha256=hash_key(secret),
        expires_at=None if days is None else func.now() + timedelta(days=days),
    )
    with database.session_scope() as session:
        is_first = not has_keys(session)
        return MadeKey(session.execute(statement.returning(ApiKey)).scalar_one(), is_first, secret)


def list_keys(database: Database) -> Sequence[ApiKey]:
    """Return all keys, also revoked and expired ones, by owner and age."""
    with database.session_scope() as session:
        return session.scalars(select(ApiKey).order_by(ApiKey.owner_id, ApiKey.id)).all()


def revoke_key(database: Database, key_id: str) -> ApiKey:
    """Revoke a key. A repeated call changes nothing.

    Raises:
        KeyRefused: there is no key with this id.
    """
    revoked = update(ApiKey).where(ApiKey.id == key_id, ApiKey.revoked_at.is_(None)).values(revoked_at=func.now())
    with database.session_scope() as session:
        session.execute(revoked)
        row = session.get(ApiKey, key_id)
        if row is None:
            raise KeyRefused("there is no key with this id; `lens keys list` shows the ids")
        return row
