"""Blocks whose reads are under way, and where the answers of each request go."""

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from lens_engine.scoring.base import Block
from lens_engine.scoring.endpoints.contract import Parts, ReadPlan, Server
from lens_engine.types import FloatArray


class Row(NamedTuple):
    """Queries that follow one prefix, and the place of their scores in those of the block."""

    row: int
    columns: slice
    prefix: Parts
    queries: list[Parts]


class Place(NamedTuple):
    """Where the answers of a request go."""

    read: int  #: of the plan
    row: int
    columns: list[int]


@dataclass(slots=True)
class Flight:
    """A block whose reads are under way."""

    plan: ReadPlan
    reads: list[FloatArray]  #: of each read of the plan  # [rows, columns, wanted]
    pairs_found: int = 0
    under_way: list[tuple[Place, "Future[FloatArray]"]] = field(default_factory=list)

    @property
    def has_landed(self) -> bool:
        return all(future.done() for _, future in self.under_way)


def list_rows(server: Server, block: Block) -> list[Row]:
    """The prefixes of a block, each with the queries after it: all queries or, in a paired block, its own alone.

    Raises:
        InvalidDataset: as `Server.encode`.
    """
    encoded = server.encode(block.prefixes, block.queries)
    if not block.is_paired:
        return [Row(row, slice(0, len(queries)), prefix, queries) for row, (prefix, queries) in enumerate(encoded)]
    return [
        Row(0, slice(place, place + 1), prefix, queries[place : place + 1])
        for place, (prefix, queries) in enumerate(encoded)
    ]


def list_futures(flights: Iterable[Flight]) -> list["Future[FloatArray]"]:
    """The requests of blocks."""
    return [future for flight in flights for _, future in flight.under_way]
