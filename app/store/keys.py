"""API keys: made, listed and revoked by an operator, and looked up by each API process."""

import asyncio
import hashlib
import logging
import re
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar, cast

from cachetools import TTLCache
from sqlalchemy import exists, func, insert, literal, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.errors import Unavailable
from app.ids import new_id
from app.model_settings import OWNER_FORM
from app.store.database import Database
from app.store.tables import ApiKey

_FORM = re.compile(r"lens_[0-9a-f]{64}")
"""Form of a key. Scanners for leaked secrets can find it. The digits are 256 random bits, so SHA-256 is enough to store
them: a slow hash protects passwords, which can be guessed, and would only make each request slow."""

_PREFIX_CHARACTERS = 13
"""The beginning of a key, by which people recognise it: `lens_` and 8 hex digits. 224 bits stay secret."""


def hash_key(key: str) -> str:
    """SHA-256 of a key (hex). It is looked up, and not the key: how long that takes tells nothing about a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


_USE_INTERVAL = timedelta(minutes=1)
_IS_USE_OLD = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at < func.now() - _USE_INTERVAL)


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A key that is neither revoked nor expired. `is_use_old`: its last use was noted more than a minute ago."""

    id: str
    owner_id: str
    name: str
    is_use_old: bool


def has_keys(session: Session) -> bool:
    """Whether a key was ever made. A revoked or expired key counts."""
    return bool(session.scalar(select(exists(select(literal(1)).select_from(ApiKey)))))


_MOST_REMEMBERED = 10_000
_PATIENCE_SECONDS = 5.0
_AWAY = "the API keys cannot be checked now, and nothing of the request was read; repeat the request"

_UNKNOWN = object()

_log = logging.getLogger(__name__)

T = TypeVar("T")


class KeyLookup:
    """The keys of the database, for the requests of one API process. All calls must come from its event loop."""

    def __init__(self, database: Database, lifetime_seconds: float) -> None:
        self._database = database
        # Few threads: a flood of unknown keys must not take those of the requests, nor the connections.
        self._threads = ThreadPoolExecutor(2, "lens-keys")
        self._live: TTLCache[str, LiveKey | None] = TTLCache(_MOST_REMEMBERED, lifetime_seconds)
        self._has_keys: TTLCache[str, bool] = TTLCache(1, lifetime_seconds)

    async def find_key(self, key: str) -> LiveKey | None:
        """Return a live key, or None. Raises Unavailable if Postgres does not answer."""
        return await self._remember(self._live, hash_key(key), self._find) if _FORM.fullmatch(key) else None

    async def has_keys(self) -> bool:
        """Whether a key was ever made. Raises Unavailable if Postgres does not answer."""
        return await self._remember(self._has_keys, "any", lambda _: self._read(has_keys))

    def close(self) -> None:
        """Stop the threads. A query that is under way ends first."""
        self._threads.shutdown(cancel_futures=True)

    async def _remember(self, answers: TTLCache[str, T], question: str, find: Callable[[str], T]) -> T:
        """The answer from the cache, or from a query."""
        known = answers.get(question, _UNKNOWN)  # asked once: the answer may expire between two looks
        if known is not _UNKNOWN:
            return cast(T, known)
        asking = asyncio.get_running_loop().run_in_executor(self._threads, find, question)
        try:
            found = await asyncio.wait_for(asking, _PATIENCE_SECONDS)
        except TimeoutError as error:
            raise Unavailable(_AWAY) from error
        answers[question] = found
        return found

    def _find(self, digest: str) -> LiveKey | None:
        is_live = ApiKey.revoked_at.is_(None), or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now())
        columns = select(ApiKey.id, ApiKey.owner_id, ApiKey.name, _IS_USE_OLD)
        row = self._read(
            lambda session: session.execute(columns.where(ApiKey.sha256 == digest, *is_live)).one_or_none()
        )
        if row is None:
            return None
        key = LiveKey(*row)
        if key.is_use_old:
            self._note_use(key.id)
        return key

    def _read(self, query: Callable[[Session], T]) -> T:
        try:
            with self._database.session_scope() as session:
                return query(session)
        except SQLAlchemyError as error:
            _log.warning("the API keys were not read (%s)", type(error).__name__, extra={"action": "keys-not-read"})
            raise Unavailable(_AWAY) from error

    def _note_use(self, key_id: str) -> None:
        """In a transaction of its own: a Postgres that only reads lets the request pass."""
        try:
            with self._database.session_scope() as session:
                session.execute(update(ApiKey).where(ApiKey.id == key_id, _IS_USE_OLD).values(last_used_at=func.now()))
        except SQLAlchemyError as error:
            _log.warning("the use of a key was not noted (%s)", type(error).__name__, extra={"action": "key-use-lost"})


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
    """Make a key of an owner, which expires after `days` days or never. Raises KeyRefused if a name cannot be used."""
    if not OWNER_FORM.fullmatch(owner_id):
        raise KeyRefused("an owner must have 1 to 100 letters, digits, dots, dashes or underscores")
    if not 0 < len(name.strip()) <= _MAX_NAME_CHARACTERS or not name.isprintable():
        raise KeyRefused(f"a name must have 1 to {_MAX_NAME_CHARACTERS} printable characters")
    secret = f"lens_{secrets.token_hex(32)}"
    statement = insert(ApiKey).values(
        id=new_id("key"),
        owner_id=owner_id,
        name=name.strip(),
        prefix=secret[:_PREFIX_CHARACTERS],
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
    """Revoke a key. A repeated call changes nothing. Raises KeyRefused if there is no key with this id."""
    revoked = update(ApiKey).where(ApiKey.id == key_id, ApiKey.revoked_at.is_(None)).values(revoked_at=func.now())
    with database.session_scope() as session:
        session.execute(revoked)
        row = session.get(ApiKey, key_id)
        if row is None:
            raise KeyRefused("there is no key with this id; `lens keys list` shows the ids")
        return row
