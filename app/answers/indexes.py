"""Pools in memory, each with the index of its texts."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from app.answers.remote import weigh_pool
from app.held_values import HeldValues
from lens_engine.prompt.pool import Pool

PoolKey = tuple[str, ...]
"""What a pool belongs to, and its version: equal keys have equal pools."""

_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 2**18
"""Option of `mallopt`, and the size from which a block is one of the system's own (bytes)."""


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


class Indexes(HeldValues[PoolKey, Pool]):
    """The pools that were asked for last, as `HeldValues` holds them."""

    def __init__(self, most_bytes: int) -> None:
        return_large_blocks()
        super().__init__(most_bytes, weigh_pool, "lens-index")

    async def find(self, source: PoolSource) -> Pool:
        """The pool with its index. Raises what `PoolSource.load` raises."""
        return await self.find_or_make(source.key, source.load)

    def load(self, source: PoolSource) -> Pool:
        """The pool without its index, which whoever looks at the rows need not keep alive."""
        held = self.held(source.key)
        return source.load() if held is None else copy(held)


def return_large_blocks() -> None:
    """Let the allocator return large blocks to the system once they are free. That of glibc would keep those of up to
    32 MiB after the first one, for each thread; other systems have no such call."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)


async def get_indexes(request: Request) -> Indexes:
    indexes: Indexes = request.app.state.indexes
    return indexes


IndexesDep = Annotated[Indexes, Depends(get_indexes)]
