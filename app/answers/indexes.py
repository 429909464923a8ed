"""Pools in memory, each with the index of its texts: made once for all who ask, forgotten when others need the room."""

import asyncio
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from lens_engine.retrieval.pool import Pool

PoolKey = tuple[str, ...]
"""What a pool belongs to, and its version: equal keys have equal pools."""

_ROW_BYTES = 700
"""What the objects of a row take besides its text, measured."""


@dataclass(frozen=True, slots=True)
class PoolSource:
    """Where the pool of a prompt is found."""

    key: PoolKey
    num_rows: int
    load: Callable[[], Pool]
    """Reads the pool in a transaction of its own.

    Raises:
        AppError: it was deleted meanwhile.
    """


class Indexes:
    """The pools that were asked for last: all that fit into a number of bytes, and at least one. Threads may share it.

    A pool that is too large by itself is held until another one is made: each request would make it anew otherwise. One
    thread makes an index after another, so that many new ones at once take neither all threads nor all memory.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held = OrderedDict[PoolKey, Future[Pool]]()
        self._sizes = dict[PoolKey, int]()
        self._maker = ThreadPoolExecutor(1, "lens-index")

    async def find(self, source: PoolSource) -> Pool:
        """The pool with its index. Those who ask while it is made wait without a thread.

        Raises:
            AppError: as `PoolSource.load`.
        """
        made = self._find(source)
        if made.done():
            return made.result()
        return await asyncio.shield(asyncio.wrap_future(made))  # one who goes away ends it for nobody else

    def held(self, key: PoolKey) -> Pool | None:
        """The pool, if it is there."""
        with self._lock:
            made = self._held.get(key)
        return made.result() if made is not None and made.done() and made.exception() is None else None

    @property
    def num_bytes(self) -> int:
        """What the pools take (bytes), estimated."""
        with self._lock:
            return sum(self._sizes.values())

    def close(self) -> None:
        self._maker.shutdown(cancel_futures=True)

    def _find(self, source: PoolSource) -> Future[Pool]:
        with self._lock:
            found = self._held.get(source.key)
            if found is None:
                found = self._held[source.key] = self._maker.submit(self._make, source)
            self._held.move_to_end(source.key)
            return found

    def _make(self, source: PoolSource) -> Pool:
        try:
            pool = source.load()
            size = weigh_pool(pool)
        except BaseException:
            with self._lock:
                del self._held[source.key]
            raise
        with self._lock:
            self._sizes[source.key] = size
            self._make_room(source.key)
        return pool

    def _make_room(self, newest: PoolKey) -> None:
        """Forget the pools that nobody asked for the longest time, but not the newest."""
        taken = sum(self._sizes.values())
        for key in [key for key in self._held if key in self._sizes and key != newest]:
            if taken <= self._most_bytes:
                return
            taken -= self._sizes.pop(key)
            del self._held[key]


def weigh_pool(pool: Pool) -> int:
    """Memory that a pool takes with its index, which is made (bytes), estimated."""
    texts = sum(sys.getsizeof(row.text) for row in pool.rows)
    return texts + _ROW_BYTES * len(pool.examples) + pool.index.num_bytes


async def get_indexes(request: Request) -> Indexes:
    indexes: Indexes = request.app.state.indexes
    return indexes


IndexesDep = Annotated[Indexes, Depends(get_indexes)]
