"""A team of actors that share calls: a free actor takes the next call, and a lost actor is replaced."""

import heapq
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from lens_engine.cluster.actor import ActorReport, ScoringActor
from lens_engine.cluster.session import import_ray
from lens_engine.cluster.work import Answer, Item, Member, Work
from lens_engine.errors import ClusterError, LensError
from lens_engine.scoring.interruption import look_up

DEPTH = 2
"""Number of calls that an actor has at a time, so that it need not wait for the next one."""

AHEAD = 8
"""Number of calls for each actor that are taken before the oldest is answered: bounds the delay by a slow actor."""

MAX_LOSSES = 3
"""Number of actors that may be lost during one call, or while they load, before the run fails."""

_LOOK_SECONDS = 0.2


class Team:
    """A number of actors with one model."""

    def __init__(
        self,
        choice: dict[str, Any],
        size: int,
        *,
        resources: dict[str, float],
        patience_seconds: float,
        kind: type[ScoringActor] = ScoringActor,
    ) -> None:
        """`choice` has the arguments of `load_scorer`, and `resources` "num_cpus" and "num_gpus" of each actor."""
        self._ray = import_ray()
        self._kind = self._ray.remote(**resources)(kind)
        self._choice = choice
        self.size = size
        self._patience_seconds = patience_seconds
        self._members = list[Member]()
        self._loading = dict[Future[ActorReport], Member]()
        self._lost_while_loading = 0
        self._report: ActorReport | None = None

    def start(self) -> ActorReport:
        """Start the actors: the first decides every "auto", and the others load the model with its decisions.

        Raises:
            LensError: as `load_scorer`.
            ClusterError: an actor differs from the first, was lost, or could not be started in time.
        """
        self._hire()
        self._wait_for_members(1)
        assert self._report is not None
        for _ in range(self.size - 1):
            self._hire()
        self._wait_for_members(self.size)
        return self._report

    @property
    def pids(self) -> list[int]:
        """Process ids of the actors, on their machines."""
        pids: list[int] = self._ray.get([member.handle.pid.remote() for member in self._members])
        return pids

    def run(
        self,
        call: Callable[[Any, Item], Any],
        items: Iterable[Item],
        is_stale: Callable[[Answer], bool] = lambda _: False,
    ) -> Iterator[Answer]:
        """Yield the answer of each item, in order; `call(actor, item)` starts a call and returns Ray's reference.

        An item is taken when an actor can soon start it. If an answer is stale before its turn, its call is
        repeated.

        Raises:
            LensError: an actor raised it; raised in place of the answer.
            ClusterError: too many actors were lost.
        """
        work, source = Work[Item, Answer](), iter(items)
        for member in self._members:
            member.num_calls = 0  # calls of an abandoned run do not count
        place = 0
        while True:
            self._hand_out(work, source, call)
            if not work.items:
                return
            if place not in work.answers:
                self._wait(work)
                continue
            if work.is_fresh(place, is_stale):
                yield work.give_back(place)
                place += 1
            for other in [other for other in work.answers if not work.is_fresh(other, is_stale)]:
                work.do_again(other)

    def close(self) -> None:
        """End the actors."""
        for member in (*self._members, *self._loading.values()):
            self._ray.kill(member.handle)
        self._members, self._loading = [], {}

    def _hand_out(self, work: Work[Item, Answer], source: Iterator[Item], call: Callable[[Any, Item], Any]) -> None:
        """Give calls to the actors that have room."""
        if not self._members:  # all actors are lost, so no item is taken
            self._wait_for_members(1)
        while (member := self._least_busy()) is not None and self._has_waiting(work, source):
            place = heapq.heappop(work.waiting)
            work.under_way[call(member.handle, work.items[place]).future()] = (place, member)
            member.num_calls += 1

    def _least_busy(self) -> Member | None:
        free = [member for member in self._members if member.num_calls < DEPTH]
        return min(free, key=lambda member: member.num_calls, default=None)

    def _has_waiting(self, work: Work[Item, Answer], source: Iterator[Item]) -> bool:
        """Whether a call is waiting; takes one from the source if there is room."""
        if not work.waiting and len(work.items) < AHEAD * self.size:
            for item in source:
                work.take(item)
                break
        return bool(work.waiting)

    def _wait(self, work: Work[Item, Answer]) -> None:
        """Wait for the next event: an answer, or an actor that has loaded."""
        for future in _first_of([*work.under_way, *self._loading]):
            if future in self._loading:
                self._admit(future)
            else:
                self._take_in(work, future)

    def _take_in(self, work: Work[Item, Answer], future: Future[Answer]) -> None:
        place, member = work.under_way.pop(future)
        member.num_calls -= 1
        try:
            work.answers[place] = future.result()
        except self._ray.exceptions.RayTaskError as error:
            work.answers[place] = _own_error(error)
        except self._ray.exceptions.RayError as error:  # the actor, its machine or its answer is lost
            work.losses[place] = work.losses.get(place, 0) + 1
            if work.losses[place] > MAX_LOSSES:
                raise _lost("at the same work", error) from error
            work.do_again(place)
            self._replace(member)

    def _replace(self, member: Member) -> None:
        """Replace a lost actor. Each of its calls reports the loss; only the first report counts."""
        if member in self._members:
            self._members.remove(member)
            self._ray.kill(member.handle)  # it may still run, but be unreachable
            self._hire()

    def _hire(self) -> None:
        member = Member(self._kind.remote())
        self._loading[member.handle.load.remote(self._choice).future()] = member

    def _wait_for_members(self, count: int) -> None:
        """Wait until `count` actors have loaded.

        Raises:
            ClusterError: the actors were not ready in time; or as `_admit`.
        """
        deadline = time.monotonic() + self._patience_seconds
        while len(self._members) < count:
            left = max(deadline - time.monotonic(), 0.0)
            ready = _first_of(self._loading, left)
            if not ready:
                raise ClusterError(
                    f"{len(self._members)} of {count} actors were ready within {self._patience_seconds:.0f} s; the "
                    "cluster may be busy or too small: see `ray status`, or ask for fewer actors"
                )
            for future in ready:
                self._admit(future)

    def _admit(self, future: Future[ActorReport]) -> None:
        """Let a loaded actor take calls, if it reports the same as the others."""
        member = self._loading.pop(future)
        try:
            report = future.result()
        except self._ray.exceptions.RayError as error:
            has_answered = isinstance(error, self._ray.exceptions.RayTaskError)
            # After the first has loaded, an actor may fail because a lost one has not yet freed its memory.
            if self._lost_while_loading >= MAX_LOSSES or (has_answered and self._report is None):
                raise (_own_error(error) if has_answered else _lost("while they loaded the model", error)) from None
            self._lost_while_loading += 1
            self._hire()
            return
        self._lost_while_loading = 0
        self._agree(report)
        self._members.append(member)

    def _agree(self, report: ActorReport) -> None:
        if self._report is None:
            self._report = report
            # The others might measure differently, so they get no "auto".
            self._choice = self._choice | {"dtype": report.identity.dtype, "executor": report.identity.executor}
        if differences := self._report.differences(report):
            raise ClusterError(
                f"the actors would not give the same numbers; {'; '.join(differences)}: use machines of one kind "
                "with the same release and the same model files"
            )


def _first_of(futures: Collection[Future[Any]], seconds: float = math.inf) -> set[Future[Any]]:
    """Those that have ended, as soon as one has; none after `seconds`.

    The wait is Python's, because an exception of a signal handler comes out of Ray's as a SystemError. It looks up as
    a forward on this machine would.
    """
    deadline = time.monotonic() + seconds
    while True:
        look_up()
        left = deadline - time.monotonic()
        ended = wait(futures, max(min(left, _LOOK_SECONDS), 0.0), FIRST_COMPLETED).done
        if ended or left <= 0:
            return ended


def _own_error(error: Any) -> Exception:
    """The actor's `LensError` or `MemoryError`; any other error stays Ray's, with the actor's traceback."""
    cause = error.cause
    found: Exception = cause if isinstance(cause, LensError | MemoryError) else error
    return found


def _lost(where: str, error: Exception) -> ClusterError:
    return ClusterError(
        f"{MAX_LOSSES + 1} actors in a row were lost {where}: {_gist(error)}. Look for a machine that is short of "
        "memory or has another installation; use fewer actors or a smaller model"
    )


def _gist(error: Exception) -> str:
    """The last line of Ray's message, without its advice."""
    return str(error).strip().splitlines()[-1].partition(" Some common causes")[0].strip()[:300].removesuffix(".")
