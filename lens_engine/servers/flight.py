"""A block whose reads are under way. Equal prompts share one answer, also those of different blocks."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from lens_engine.scoring.base import Block
from lens_engine.servers.contract import Parts, ReadPlan, Server
from lens_engine.types import FloatArray


class Row(NamedTuple):
    """Queries that follow one prefix, and the place of their scores in those of the block."""

    row: int
    columns: slice
    prefix: Parts
    queries: list[Parts]


class Answer(NamedTuple):
    """The answer to one prompt: a row of what a request brings."""

    request: "Future[FloatArray]"
    row: int


class _Place(NamedTuple):
    answer: int  #: row of the request
    read: int  #: of the plan
    row: int
    column: int


@dataclass(slots=True)
class Flight:
    """A block, the requests that it waits for, and the keys of the prompts for which it sent them."""

    plan: ReadPlan
    reads: list[FloatArray]  #: of each read of the plan  # [rows, columns, wanted]
    pairs_found: int = 0
    asked: list[bytes] = field(default_factory=list)
    _places: dict["Future[FloatArray]", list[_Place]] = field(default_factory=dict)

    def expect(self, answer: Answer, read: int, row: int, column: int) -> None:
        """Wait for the answer, which belongs to a place of a read."""
        self._places.setdefault(answer.request, []).append(_Place(answer.row, read, row, column))

    @property
    def requests(self) -> list["Future[FloatArray]"]:
        """Those that it sent, and those of other blocks."""
        return list(self._places)

    @property
    def has_landed(self) -> bool:
        return all(request.done() for request in self._places)

    def fill_in(self, found: Sequence[FloatArray]) -> None:
        """Put what the requests brought where it belongs."""
        for values, places in zip(found, self._places.values(), strict=True):
            for answer, read, row, column in places:
                self.reads[read][row, column] = values[answer]


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


def list_requests(flights: Iterable[Flight]) -> list["Future[FloatArray]"]:
    """The requests of all flights, each once."""
    return list(dict.fromkeys(request for flight in flights for request in flight.requests))
