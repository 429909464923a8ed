"""What an operator does with API keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from app.database import Database
from app.ids import is_id
from app.keys import repository
from app.keys.secret import hash_key, make_secret, prefix_of
from app.models import ApiKey
from app.setting_types import OWNER_FORM

_MAX_NAME_CHARACTERS = 100


class KeyRefused(ValueError):
    """The key cannot be made or revoked; the message says why."""


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key. `secret` is shown to the operator once and stored nowhere."""

    row: ApiKey
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
    expires_in = None if days is None else timedelta(days=days)
    new = repository.NewKey(owner_id, name.strip(), prefix_of(secret), hash_key(secret), expires_in)
    with database.session_scope() as session:
        return MadeKey(repository.insert_key(session, new), secret)


def list_keys(database: Database) -> Sequence[ApiKey]:
    """Return all keys, also revoked and expired ones."""
    with database.session_scope() as session:
        return repository.list_keys(session)


def revoke_key(database: Database, key_id: str) -> ApiKey:
    """Revoke a key. A repeated call changes nothing.

    Raises:
        KeyRefused: there is no key with this id.
    """
    with database.session_scope() as session:
        if is_id(key_id):
            repository.revoke_key(session, key_id)
        row = repository.find_key(session, key_id)
        if row is None:
            raise KeyRefused("there is no key with this id; `lens keys list` shows the ids")
        return row
