"""Pools in memory, each with the index of its texts."""

import asyncio
import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fastapi import Depends, Request

from app.answering.subjects import weigh_pool
from lens_engine.retrieval.pool import Pool

PoolKey = tuple[str, ...]
"""What a pool belongs to, and its version: equal keys have equal pools."""

SMALL_ROWS, SMALL_CHARACTERS = 1_000, 200_000
"""Size of a pool whose index is made in some tenths of a second at most."""

_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 2**18
"""Option of `mallopt`, and the size from which a block is one of the system's own (bytes)."""


class Superseded(Exception):
    """A newer version of the pool was asked for meanwhile, so this one is not made."""


@dataclass(frozen=True, slots=True)
class PoolSource:
    """Where the pool of a prompt is found."""

    owner_id: str
    of: PoolKey  #: what the pool belongs to, without its version
    version: PoolKey
    num_rows: int
    load: Callable[[], Pool]
    """Reads the pool in a transaction of its own.

    Raises:
        AppError: it was deleted meanwhile.
    """

    @property
    def key(self) -> PoolKey:
        return self.of + self.version


class _Held(NamedTuple):
    key: PoolKey
    pool: Pool
    size: int  #: bytes


class _Line:
    """The pools that a thread makes one after another: of each the version that was asked for last, owners in turn."""

    def __init__(self, name: str) -> None:
        self.maker = ThreadPoolExecutor(1, name)
        self._waiting = OrderedDict[str, dict[PoolKey, PoolSource]]()  # by owner

    def put(self, source: PoolSource) -> PoolSource | None:
        """Let a version wait. Returns the one whose place it takes."""
        own = self._waiting.setdefault(source.owner_id, {})
        dropped, own[source.of] = own.get(source.of), source
        return dropped

    def pop(self) -> PoolSource | None:
        """The next one; None if all that waited were taken."""
        if not self._waiting:
            return None
        owner, own = self._waiting.popitem(last=False)
        source = own.pop(next(iter(own)))
        if own:
            self._waiting[owner] = own  # behind all others
        return source


class Indexes:
    """The pools that were asked for last: all that fit into a number of bytes, and at least one. Threads may share it.

    Of what changes, the newest version alone is held. A pool that is too large by itself is held until another one is
    made: each request would make it anew otherwise. One thread makes large pools and one small ones, so that many at
    once take neither all threads nor all memory, and nobody waits for seconds because of the large pools of others.
    """

    def __init__(self, most_bytes: int) -> None:
        return_large_blocks()
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held = OrderedDict[PoolKey, _Held]()  # by what the pool belongs to
        self._asked = dict[PoolKey, Future[Pool | None]]()  # what waits or is made, by key; None if it is superseded
        self._small, self._large = _Line("lens-small-index"), _Line("lens-index")

    async def find(self, source: PoolSource) -> Pool:
        """The pool with its index.

        Raises:
            Superseded: another version was asked for before this one was begun; read which one is the newest.
            AppError: as `PoolSource.load`.
        """
        made = self._find(source)
        # One who goes away ends it for nobody else.
        pool = made if isinstance(made, Pool) else await asyncio.shield(asyncio.wrap_future(made))
        if pool is None:
            raise Superseded
        return pool

    def held(self, source: PoolSource) -> Pool | None:
        """The pool without its index, which whoever looks at the rows need not keep alive; None if it is not there."""
        with self._lock:
            held = self._held.get(source.of)
        return copy(held.pool) if held is not None and held.key == source.key else None

    @property
    def num_bytes(self) -> int:
        """What the pools take (bytes), estimated."""
        with self._lock:
            return sum(held.size for held in self._held.values())

    def close(self) -> None:
        for line in (self._small, self._large):
            line.maker.shutdown(cancel_futures=True)
        for made in self._asked.values():
            made.cancel()

    def _find(self, source: PoolSource) -> Pool | Future[Pool | None]:
        with self._lock:
            held = self._held.get(source.of)
            if held is not None and held.key == source.key:
                self._held.move_to_end(source.of)
                return held.pool
            if source.key not in self._asked:
                self._asked[source.key] = Future()
                self._put(source, self._small if source.num_rows <= SMALL_ROWS else self._large)
            return self._asked[source.key]

    def _put(self, source: PoolSource, line: _Line) -> None:
        dropped = line.put(source)
        if dropped is not None:
            self._asked.pop(dropped.key).set_result(None)
        line.maker.submit(self._make_next, line)

    def _make_next(self, line: _Line) -> None:
        with self._lock:
            source = line.pop()
            if source is None:  # it was superseded
                return
            self._held.pop(source.of, None)  # nobody asks for the version before any more
        try:
            pool = source.load()
            if line is self._small and sum(len(row.text) for row in pool.rows) > SMALL_CHARACTERS:
                with self._lock:
                    self._put(source, self._large)
                return
            size = weigh_pool(pool)
        except BaseException as error:  # noqa: BLE001 - each who asked raises it
            with self._lock:
                self._asked.pop(source.key).set_exception(error)
            return
        with self._lock:
            self._held[source.of] = _Held(source.key, pool, size)
            self._make_room()
            self._asked.pop(source.key).set_result(pool)

    def _make_room(self) -> None:
        """Forget the pools that nobody asked for the longest time, but not the newest."""
        taken = sum(held.size for held in self._held.values())
        while taken > self._most_bytes and len(self._held) > 1:
            _, forgotten = self._held.popitem(last=False)
            taken -= forgotten.size


def return_large_blocks() -> None:
    """Let the allocator return large blocks to the system once they are free. That of glibc would keep those of up to
    32 MiB after the first one, for each thread; other systems have no such call."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)


async def get_indexes(request: Request) -> Indexes:
    indexes: Indexes = request.app.state.indexes
    return indexes


IndexesDep = Annotated[Indexes, Depends(get_indexes)]
