"""Whose turn it is, for any jobs and workers: the order, and what one owner's flood costs another."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from app.lifecycle.turns import Head, choose

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def head(name: str, queued: float, served: float | None = None, running: int = 0) -> Head:
    return Head(name, at(queued), None if served is None else at(served), running)


@pytest.mark.parametrize(
    ("heads", "chosen"),
    [
        ([], None),
        ([head("b", 2), head("a", 1)], "a"),
        ([head("old", 1, served=5), head("served before", 2, served=4)], "served before"),
        ([head("served", 1, served=5), head("new", 2)], "new"),
        ([head("on two", 1, served=1, running=2), head("on one", 2, served=2, running=1)], "on one"),
    ],
)  # fmt: skip
def test_turn_is_that_of(heads: list[Head], chosen: str | None) -> None:
    found = choose(heads)
    assert (found and found.job_id) == chosen
    assert choose(heads[::-1]) == found


@dataclass
class Service:
    """Owners, jobs and workers, minute by minute, as Postgres would have them."""

    num_workers: int
    minute: int = 0
    waiting: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  #: when each job was queued
    running: list[tuple[str, int]] = field(default_factory=list)  #: owner, minute of its end
    served: dict[str, int] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)  #: owners

    def submit(self, owner: str, number: int) -> None:
        self.waiting[owner] += [self.minute] * number

    def step(self, minutes: int) -> None:
        self.served.update({owner: self.minute for owner, end in self.running if end == self.minute})
        self.running = [one for one in self.running if one[1] != self.minute]
        while len(self.running) < self.num_workers and (chosen := choose(self._list_heads())) is not None:
            owner = chosen.job_id
            self.waiting[owner].pop(0)
            self.begun.append(owner)
            self.served[owner] = self.minute
            self.running.append((owner, self.minute + minutes))
        self.minute += 1

    def _list_heads(self) -> list[Head]:
        held = Counter(owner for owner, _ in self.running)
        return [
            Head(owner, at(queued[0]), at(self.served[owner]) if owner in self.served else None, held[owner])
            for owner, queued in self.waiting.items()
            if queued
        ]


@pytest.mark.parametrize("num_workers", [1, 2, 5])
def test_flood_of_one_owner_costs_another_the_job_under_way(num_workers: int) -> None:
    service = Service(num_workers)
    service.submit("flood", 500)
    for _ in range(23):
        service.step(5)
    begun = len(service.begun)
    service.submit("guest", 1)
    while not service.waiting["flood"] or service.waiting["guest"]:
        service.step(5)
    assert service.begun[begun] == "guest"


@pytest.mark.parametrize("seed", range(5))
def test_workers_are_shared_in_time_among_owners_who_wait(seed: int) -> None:
    """Long and short runs of three owners on four workers: nobody who waits has fewer than his share."""
    random, service = Random(seed), Service(num_workers=4)
    for owner in ("a", "b", "c"):
        service.submit(owner, 300)
    held = Counter[str]()
    for _ in range(1500):
        service.step(random.choice([1, 9]))
        held.update(one[0] for one in service.running)
    assert min(held.values()) >= 0.8 * sum(held.values()) / 3
