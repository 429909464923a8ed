"""Finds a key in the database, and remembers the answer for some seconds.

The hash of the presented key is looked up, not the key: how long that takes tells nothing about a key.

All times come from the clock of the database.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

from cachetools import TTLCache
from sqlalchemy import exists, func, literal, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.errors import Unavailable
from app.keys.secret import has_form, hash_key
from app.store.database import Database
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
        # Threads of its own, and few: a flood of unknown keys must not take those of the requests, nor the connections.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="lens-keys")
        self._live: TTLCache[str, LiveKey | None] = TTLCache(_MOST_REMEMBERED, lifetime_seconds)
        self._has_keys: TTLCache[str, bool] = TTLCache(1, lifetime_seconds)
        self._asking: dict[str, Future[Any]] = {}

    async def find_key(self, key: str) -> LiveKey | None:
        """Return a live key, or None.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._remember(self._live, hash_key(key), self._find) if has_form(key) else None

    async def has_keys(self) -> bool:
        """Whether a key was ever made.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._remember(self._has_keys, "any", lambda _: self._read(has_keys))

    def close(self) -> None:
        """Stop the threads. A query that is under way ends first."""
        self._threads.shutdown(cancel_futures=True)

    async def _remember(self, answers: TTLCache[str, T], question: str, find: Callable[[str], T]) -> T:
        """The answer from the cache, or from one query, however many requests wait for it."""
        known = answers.get(question, _UNKNOWN)  # asked once: the answer may expire between two looks
        if known is not _UNKNOWN:
            return cast(T, known)
        asking = self._asking.get(question)
        if asking is None:
            asking = self._asking[question] = self._threads.submit(find, question)
            asking.add_done_callback(lambda _: self._asking.pop(question, None))
        waiting = asyncio.wrap_future(asking)
        waiting.add_done_callback(lambda it: it.cancelled() or it.exception())  # asyncio reports an error not looked at
        await asyncio.wait({waiting}, timeout=_PATIENCE_SECONDS)
        if not waiting.done():
            raise Unavailable(_AWAY)
        found: T = waiting.result()
        answers[question] = found
        return found

    def _find(self, digest: str) -> LiveKey | None:
        key = self._read(lambda session: find_live_key(session, digest))
        if key is not None and key.is_use_old:
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
                record_use(session, key_id)
        except SQLAlchemyError as error:
            _log.warning("the use of a key was not noted (%s)", type(error).__name__, extra={"action": "key-use-lost"})
