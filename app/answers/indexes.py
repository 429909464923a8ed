"""Pools in memory, each with the index of its texts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from app.answering.subjects import weigh_pool
from app.held_values import HeldValues
from lens_engine.retrieval.pool import Pool

PoolKey = tuple[str, ...]
"""What a pool belongs to, and its version: equal keys have equal pools."""


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
    """The pools that were asked for last, each with its index."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(most_bytes, weigh_pool, "lens-index")

    async def find(self, source: PoolSource) -> Pool:
        """The pool with its index.

        Raises:
            AppError: as `PoolSource.load`.
        """
        return await self.find_or_make(source.key, source.load)


async def get_indexes(request: Request) -> Indexes:
    indexes: Indexes = request.app.state.indexes
    return indexes


IndexesDep = Annotated[Indexes, Depends(get_indexes)]
