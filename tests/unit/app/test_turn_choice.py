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


def head(name: str, queued: float, served: float | None = None, running: int = 0, alike: int = 0) -> Head:
    """A head; the names of short jobs begin with "short"."""
    served_at = None if served is None else at(served)
    return Head(name, name.startswith("short"), at(queued), served_at, running, alike)


@pytest.mark.parametrize(
    ("heads", "chosen"),
    [
        ([], None),
        ([head("b", 2), head("a", 1)], "a"),
        ([head("old", 1, served=5), head("served before", 2, served=4)], "served before"),
        ([head("served", 1, served=5), head("new", 2)], "new"),
        ([head("on two", 1, served=1, running=2, alike=2), head("on one", 2, served=2, running=1, alike=1)], "on one"),
        ([head("selection", 1), head("short", 2)], "short"),
        ([head("selection", 1), head("short, served since", 2, served=3)], "selection"),
        ([head("selection", 1, served=3), head("short, served before", 2, served=2)], "short, served before"),
        ([head("second selection", 1, served=2, running=1, alike=1), head("short", 2, served=3)], "short"),
        ([head("selection", 1, running=1), head("short", 2, served=3, running=1, alike=1)], "selection"),
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
    waiting: dict[str, list[tuple[bool, int]]] = field(default_factory=lambda: defaultdict(list))
    running: list[tuple[str, bool, int]] = field(default_factory=list)  #: owner, whether it is short, minute of its end
    served: dict[str, int] = field(default_factory=dict)
    begun: list[tuple[str, bool]] = field(default_factory=list)

    def submit(self, owner: str, *, is_short: bool) -> None:
        self.waiting[owner].append((is_short, self.minute))

    def step(self, short_minutes: int, long_minutes: int) -> None:
        for owner, _, end in self.running:
            if end == self.minute:
                self.served[owner] = self.minute
        self.running = [one for one in self.running if one[2] != self.minute]
        while len(self.running) < self.num_workers and (chosen := choose(self._list_heads())) is not None:
            owner = chosen.job_id
            self.waiting[owner].remove(self._first(owner))
            self.begun.append((owner, chosen.is_short))
            self.served[owner] = self.minute
            end = self.minute + (short_minutes if chosen.is_short else long_minutes)
            self.running.append((owner, chosen.is_short, end))
        self.minute += 1

    def _first(self, owner: str) -> tuple[bool, int]:
        return min(self.waiting[owner], key=lambda one: (not one[0], one[1]))

    def _list_heads(self) -> list[Head]:
        held, alike = Counter(one[0] for one in self.running), Counter(one[:2] for one in self.running)
        return [
            Head(
                owner,
                is_short := self._first(owner)[0],
                at(self._first(owner)[1]),
                at(self.served[owner]) if owner in self.served else None,
                held[owner],
                alike[owner, is_short],
            )
            for owner, jobs in self.waiting.items()
            if jobs
        ]


@pytest.mark.parametrize("num_workers", [1, 2, 5])
@pytest.mark.parametrize("is_short", [False, True])
@pytest.mark.parametrize("floods", ["short", "selections", "both"])
def test_flood_of_one_owner_costs_another_the_job_under_way(num_workers: int, is_short: bool, floods: str) -> None:
    service = Service(num_workers)
    for number in range(500):
        service.submit("flood", is_short=floods == "short" or (floods == "both" and number % 2 == 0))
    for _ in range(23):
        service.step(short_minutes=2, long_minutes=5)
    begun = len(service.begun)
    service.submit("guest", is_short=is_short)
    while not service.waiting["flood"] or service.waiting["guest"]:
        service.step(short_minutes=2, long_minutes=5)
    assert service.begun[begun][0] == "guest"


@pytest.mark.parametrize("num_workers", [1, 2])
def test_endless_short_jobs_keep_no_selection_waiting(num_workers: int) -> None:
    service = Service(num_workers)
    for _ in range(10):
        service.submit("guest", is_short=False)
    for _ in range(400):
        while len(service.waiting["flood"]) < 5:
            service.submit("flood", is_short=True)
        service.step(short_minutes=1, long_minutes=7)
    assert Counter(service.begun)["guest", False] == 10


def test_selections_of_others_keep_no_short_job_waiting() -> None:
    service = Service(num_workers=1)
    for owner in ("a", "b", "c"):
        for _ in range(20):
            service.submit(owner, is_short=False)
    for _ in range(20):
        service.step(short_minutes=1, long_minutes=7)
    for _ in range(3):
        service.submit("guest", is_short=True)
    begun = len(service.begun)
    while service.waiting["guest"]:
        service.step(short_minutes=1, long_minutes=7)
    order = [owner for owner, _ in service.begun[begun:]]
    assert order[0] == "guest"
    assert len(order) <= 1 + 2 * 4, "at most one job of each other owner between two"


@pytest.mark.parametrize("seed", range(5))
def test_workers_are_shared_in_time_among_owners_who_wait(seed: int) -> None:
    """Long and short runs of three owners on four workers: nobody who waits has fewer than his share."""
    random, service = Random(seed), Service(num_workers=4)
    for owner in ("a", "b", "c"):
        for _ in range(300):
            service.submit(owner, is_short=False)
    held = Counter[str]()
    for _ in range(1500):
        service.step(short_minutes=1, long_minutes=random.choice([1, 9]))
        held.update(one[0] for one in service.running)
    assert min(held.values()) >= 0.8 * sum(held.values()) / 3
