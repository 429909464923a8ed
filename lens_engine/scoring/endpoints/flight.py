"""A block whose reads are under way. Equal prompts share one answer, also those of different blocks."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from lens_engine.scoring.endpoints.contract import ReadPlan
from lens_engine.types import FloatArray


class Answer(NamedTuple):
    """The answer to one prompt: a row of what a request brings."""

    request: "Future[FloatArray]"
    row: int


class _Place(NamedTuple):
    row: int  #: of the request
    read: int  #: of the plan
    prefix: int
    query: int


@dataclass(slots=True)
class Flight:
    """A block, the requests that it waits for, and the keys of the prompts for which it sent them."""

    plan: ReadPlan
    reads: list[FloatArray]  #: of each read of the plan  # [prefixes, queries, wanted]
    pairs_found: int = 0
    asked: list[bytes] = field(default_factory=list)
    _places: dict["Future[FloatArray]", list[_Place]] = field(default_factory=dict)

    def expect(self, answer: Answer, read: int, prefix: int, query: int) -> None:
        """Wait for the answer, which belongs to a query after a prefix."""
        self._places.setdefault(answer.request, []).append(_Place(answer.row, read, prefix, query))

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
            for row, read, prefix, query in places:
                self.reads[read][prefix, query] = values[row]


def list_requests(flights: Iterable[Flight]) -> list["Future[FloatArray]"]:
    """The requests of all flights, each once."""
    return list(dict.fromkeys(request for flight in flights for request in flight.requests))
