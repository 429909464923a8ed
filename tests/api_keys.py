"""Keys of owners in the database, each known to the tests by its owner."""

import hashlib

from app.ids import new_id
from app.store.database import Database
from app.store.keys import hash_key
from app.store.tables import ApiKey


def key_of(owner: str) -> str:
    return f"lens_{hashlib.sha256(owner.encode()).hexdigest()}"


def headers_of(owner: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key_of(owner)}"}


def make_keys(database: Database, *owners: str) -> None:
    """As `lens keys create` does, for each owner."""
    with database.session_scope() as session:
        for owner in owners:
            key = key_of(owner)
            made = {"id": new_id("key"), "name": "test", "prefix": key[:13], "sha256": hash_key(key)}
            session.add(ApiKey(owner_id=owner, **made))
