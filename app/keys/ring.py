"""The keys of the database as one API process knows them.

All live keys are kept in memory for some seconds. So a request with a known or an unknown key costs no query, guessing
costs the database nothing, and a key known a moment ago works while Postgres is away. The hash of the presented key is
looked up, not the key: how long that takes tells nothing about a key.
"""

import asyncio
import hmac
import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from sqlalchemy.exc import SQLAlchemyError

from app.database import Database
from app.errors import Unavailable
from app.keys import repository
from app.keys.secret import has_form, hash_key

_PATIENCE_SECONDS = 5.0
"""How long a request waits for Postgres before the keys of a moment ago decide. A loaded machine takes seconds."""
_GRACE_SECONDS = 60.0
"""How long keys are believed that could not be read again. After it, revoking a key works even while Postgres hangs."""
_USE_SECONDS = 60.0
_AWAY = "the API keys cannot be checked now, and nothing of the request was read; repeat the request"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """A live key, and the time at which it expires."""

    id: str
    owner_id: str
    sha256: str
    ends_at: float


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The live keys by hash, at a time of the monotonic clock."""

    at: float
    has_keys: bool
    keys: dict[str, _Known] = field(repr=False)


class KeyRing:
    """Finds the owner of a key. Safe to use from several event loops."""

    def __init__(
        self, database: Database, lifetime_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._lifetime = lifetime_seconds
        self._clock = clock
        # Threads of its own: those of the server may all be busy with uploads.
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="lens-keys")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="lens-key-uses")
        self._lock = threading.Lock()
        self._reading: Future[_Snapshot] | None = None
        self._snapshot: _Snapshot | None = None
        self._noted: dict[str, float] = {}

    async def find_owner(self, key: str) -> str | None:
        """Return the owner of a live key, or None.

        Raises:
            Unavailable: Postgres does not answer, and the key was not known a moment ago.
        """
        if not has_form(key):
            return None
        snapshot, is_current = await self._read()
        digest = hash_key(key)
        known = snapshot.keys.get(digest)
        if known is not None and hmac.compare_digest(known.sha256, digest) and self._clock() < known.ends_at:
            self._note_use(known.id)
            return known.owner_id
        if known is None and not is_current:
            raise Unavailable(_AWAY)
        return None

    async def has_keys(self) -> bool:
        """Whether a key was ever made.

        Raises:
            Unavailable: Postgres does not answer, and did not a moment ago.
        """
        snapshot, _ = await self._read()
        return snapshot.has_keys

    def close(self) -> None:
        """Stop the threads. A query that is under way ends first."""
        self._reader.shutdown(cancel_futures=True)
        self._writer.shutdown(cancel_futures=True)

    async def _read(self) -> tuple[_Snapshot, bool]:
        """Return the keys, and whether they are at most as old as the lifetime."""
        snapshot = self._snapshot
        if snapshot is not None and self._clock() - snapshot.at < self._lifetime:
            return snapshot, True
        reading = self._begin_to_read()
        waiting = asyncio.wrap_future(reading)
        waiting.add_done_callback(_take_notice)
        await asyncio.wait({waiting}, timeout=_PATIENCE_SECONDS)
        if reading.done() and not reading.cancelled() and reading.exception() is None:
            return reading.result(), True
        if snapshot is not None and self._clock() - snapshot.at < self._lifetime + _GRACE_SECONDS:
            return snapshot, False
        raise Unavailable(_AWAY)

    def _begin_to_read(self) -> "Future[_Snapshot]":
        """Read the keys once, however many requests wait for them."""
        with self._lock:
            if self._reading is None or self._reading.done():
                self._reading = self._reader.submit(self._load)
            return self._reading

    def _load(self) -> _Snapshot:
        now = self._clock()
        try:
            with self._database.session_scope() as session:
                live = repository.list_live_keys(session)
                has_keys = bool(live) or repository.has_keys(session)
        except SQLAlchemyError as error:
            _log.warning("the API keys were not read (%s)", type(error).__name__, extra={"action": "keys-not-read"})
            raise
        self._snapshot = _Snapshot(now, has_keys, {key.sha256: _known(key, now) for key in live})
        return self._snapshot

    def _note_use(self, key_id: str) -> None:
        """Have the use of a key written, at most once a minute. The request does not wait for it."""
        now = self._clock()
        if now - self._noted.get(key_id, -math.inf) < _USE_SECONDS:
            return
        self._noted[key_id] = now
        self._writer.submit(self._write_use, key_id)

    def _write_use(self, key_id: str) -> None:
        try:
            with self._database.session_scope() as session:
                repository.record_use(session, key_id)
        except SQLAlchemyError as error:
            _log.warning("the use of a key was not noted (%s)", type(error).__name__, extra={"action": "key-use-lost"})


def _known(key: repository.LiveKey, now: float) -> _Known:
    ends_at = math.inf if key.seconds_left is None else now + key.seconds_left
    return _Known(key.id, key.owner_id, key.sha256, ends_at)


def _take_notice(reading: "asyncio.Future[_Snapshot]") -> None:
    """Look at the outcome, because asyncio reports an error that nobody has looked at."""
    if not reading.cancelled():
        reading.exception()
