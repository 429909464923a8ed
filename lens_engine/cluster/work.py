"""The calls of one run of a team, and which actor has which."""

import heapq
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(eq=False, slots=True)
class Member:
    """An actor whose model is loaded or loading."""

    handle: Any
    num_calls: int = 0


@dataclass(slots=True)
class Work(Generic[Item, Answer]):
    """Calls, by their place in the order of the items."""

    items: dict[int, Item] = field(default_factory=dict)  #: items whose answers were not yielded yet
    waiting: list[int] = field(default_factory=list)  #: heap of the places that no actor has
    under_way: dict[Future[Answer], tuple[int, Member]] = field(default_factory=dict)  #: place and actor
    answers: dict[int, Answer | Exception] = field(default_factory=dict)
    losses: dict[int, int] = field(default_factory=dict)
    num_taken: int = 0

    def take(self, item: Item) -> None:
        self.items[self.num_taken] = item
        heapq.heappush(self.waiting, self.num_taken)
        self.num_taken += 1

    def is_fresh(self, place: int, is_stale: Callable[[Answer], bool]) -> bool:
        answer = self.answers[place]
        return isinstance(answer, Exception) or not is_stale(answer)

    def do_again(self, place: int) -> None:
        self.answers.pop(place, None)
        heapq.heappush(self.waiting, place)

    def give_back(self, place: int) -> Answer:
        """The answer of a place; raises its error."""
        answer = self.answers.pop(place)
        del self.items[place]
        if isinstance(answer, Exception):
            raise answer
        return answer
