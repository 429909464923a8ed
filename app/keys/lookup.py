"""Finds the owner of a key in the database, and remembers the answer for some seconds.

The hash of the presented key is looked up, not the key: how long that takes tells nothing about a key.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from cachetools import TTLCache
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from app.database import Database
from app.errors import Unavailable
from app.keys import repository
from app.keys.secret import has_form, hash_key

_MOST_REMEMBERED = 10_000

_log = logging.getLogger(__name__)

T = TypeVar("T")
K = TypeVar("K")


class KeyLookup:
    """The keys of the database, for the requests of one API process. All calls must come from its event loop."""

    def __init__(self, database: Database, lifetime_seconds: float) -> None:
        self._database = database
        self._owners: TTLCache[str, str | None] = TTLCache(_MOST_REMEMBERED, lifetime_seconds)
        self._has_keys: TTLCache[None, bool] = TTLCache(1, lifetime_seconds)

    async def find_owner(self, key: str) -> str | None:
        """Return the owner of a live key, or None.

        Raises:
            Unavailable: Postgres does not answer.
        """
        if not has_form(key):
            return None
        return await _remember(self._owners, hash_key(key), self._find)

    async def has_keys(self) -> bool:
        """Whether a key was ever made.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await _remember(self._has_keys, None, lambda _: self._read(repository.has_keys))

    def _find(self, digest: str) -> str | None:
        key = self._read(lambda session: repository.find_live_key(session, digest))
        if key is None:
            return None
        if key.is_use_old:
            self._note_use(key.id)
        return key.owner_id

    def _read(self, query: Callable[[Session], T]) -> T:
        try:
            with self._database.session_scope() as session:
                return query(session)
        except SQLAlchemyError as error:
            _log.warning("the API keys were not read (%s)", type(error).__name__, extra={"action": "keys-not-read"})
            raise Unavailable(
                "the API keys cannot be checked now, and nothing of the request was read; repeat the request"
            ) from error

    def _note_use(self, key_id: str) -> None:
        """In a transaction of its own: a Postgres that only reads lets the request pass."""
        try:
            with self._database.session_scope() as session:
                repository.record_use(session, key_id)
        except SQLAlchemyError as error:
            _log.warning("the use of a key was not noted (%s)", type(error).__name__, extra={"action": "key-use-lost"})


async def _remember(answers: TTLCache[K, T], question: K, find: Callable[[K], T]) -> T:
    """The answer to a question, from the cache or from a thread that asks."""
    try:
        return answers[question]
    except KeyError:
        answer = answers[question] = await run_in_threadpool(find, question)
        return answer
