"""A `ParallelScorer` with an actor for each device, for one selection on several devices.

Every actor holds the whole model, of whose states a classifier is made; a model server gives none. Blocks are cut as
for one device, and all actors are of one kind with one token budget. So the bits equal those of one such device.
"""

import dataclasses
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from lens_engine.cluster.actor import ActorReport, ScoringActor, Setup
from lens_engine.cluster.placement import Placement, find_place, import_ray
from lens_engine.errors import ClusterError, LensError
from lens_engine.scoring.base import Block, Prefix, ScorerIdentity
from lens_engine.scoring.interruption import look_up
from lens_engine.types import LabelLogProbs, States

DEPTH = 2  # blocks that an actor has at a time, so that it need not wait for the next one
AHEAD = 8  # blocks for each actor that are taken before the oldest is answered: bounds the delay by a slow actor
MAX_LOSSES = 3  # how often an actor is made anew for one call


class _Call(NamedTuple):
    block: Block
    actor: int
    token_budget: int | None
    future: Future[Any]


class RayScorer:
    """Scores with actors; `close` ends them. Ray makes a lost actor anew, and repeats its calls.

    If one runs out of memory at a block, all score this block and later ones with the halved budget, as one would.
    """

    def __init__(self, place: Placement, choice: dict[str, Any], kind: type[ScoringActor] = ScoringActor) -> None:
        self._ray = import_ray()
        self._exits = ExitStack()  #: what ends with this scorer
        needs = {"num_cpus": place.threads or 1, "num_gpus": int(place.device == "cuda")}
        make = self._ray.remote(max_restarts=-1, max_task_retries=MAX_LOSSES, **needs)(kind)
        self._actors = [make.remote() for _ in range(place.actors)]
        for actor in self._actors:
            self._exits.callback(self._ray.kill, actor)
        self._setup = Setup({**choice, "device": place.device, "threads": place.threads})
        self.num_workers = place.actors

    @classmethod
    def start(
        cls,
        model: str,
        *,
        actors: int | None,
        address: str | None = None,
        dtype: str = "auto",
        device: str = "auto",
        name: str | None = None,
    ) -> Self:
        """Start Ray, or join it, and load the model once in each actor.

        The arguments are those of `find_place` and `load_scorer`; a path must exist on every machine. Raises what these
        raise, and ClusterError if the actors differ or are lost.
        """
        with ExitStack() as exits:
            place = exits.enter_context(find_place(address, actors, device))
            scorer = cls(place, {"model": model, "name": name, "dtype": dtype})
            exits.push(scorer._exits.pop_all())
            scorer.load()
            scorer._exits = exits.pop_all()
            return scorer

    def load(self) -> None:
        """Load the model in the first actor, and with its decisions on every "auto" in the others."""
        first, *others = self._actors
        report: ActorReport = self._wait_for(first.load.remote(self._setup))
        decided = {"dtype": report.identity.dtype, "executor": report.identity.executor}
        self._setup = Setup({**self._setup.choice, **decided}, report)
        for asked in [actor.load.remote(self._setup) for actor in others]:
            self._wait_for(asked)
        self._report, self._token_budget = report, report.identity.token_budget
        self.max_prompt_tokens, self.num_layers = report.max_prompt_tokens, report.num_layers
        self.surroundings = report.surroundings  #: of each actor; those of the driver do not matter

    @property
    def identity(self) -> ScorerIdentity:
        return dataclasses.replace(self._report.identity, token_budget=self._token_budget)

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._call("count_tokens", list(segments))  # type: ignore[no-any-return]

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[int, ...]]:
        return self._call("encode_label_spans", list(label_spans))  # type: ignore[no-any-return]

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        found: States = self._call("states", tuple(prefix), tuple(queries), tuple(layers))
        return found.copy()  # Ray's arrays are read-only

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        return next(self.score_blocks([Block(tuple(prefixes), tuple(queries))], label_spans))

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """As `ParallelScorer`. A block is taken when an actor can soon score it."""
        source, spans, calls = iter(blocks), tuple(label_spans), deque[_Call]()
        while True:
            while (free := self._find_free(calls)) and (block := next(source, None)) is not None:
                calls.append(self._send(block, spans, free[0]))
            if not calls:
                return
            if not calls[0].future.done():
                _await_one([call.future for call in calls if not call.future.done()])
                continue
            call = calls.popleft()
            scores, token_budget = self._outcome(call.future)
            if call.token_budget != self._token_budget:  # it was halved since
                calls.appendleft(self._send(call.block, spans, call.actor))
            else:
                self._token_budget = token_budget
                yield scores.copy()  # Ray's arrays are read-only

    def close(self) -> None:
        """End the actors, and Ray if this scorer started it."""
        self._exits.close()

    def _find_free(self, calls: Collection[_Call]) -> list[int]:
        busy = Counter(call.actor for call in calls if not call.future.done())
        free = [actor for actor in range(self.num_workers) if busy[actor] < DEPTH]
        return sorted(free, key=busy.__getitem__) if len(calls) < AHEAD * self.num_workers else []

    def _send(self, block: Block, spans: Sequence[str], actor: int) -> _Call:
        asked = self._actors[actor].score.remote(self._setup, block, spans, self._token_budget)
        return _Call(block, actor, self._token_budget, asked.future())

    def _call(self, method: str, *given: Any) -> Any:
        """By one actor: the driver needs neither the model's files nor torch."""
        return self._wait_for(self._actors[0].call.remote(self._setup, method, *given))

    def _wait_for(self, asked: Any) -> Any:
        _await_one([future := asked.future()])
        return self._outcome(future)

    def _outcome(self, future: Future[Any]) -> Any:
        """What a call brought; the actor's `LensError` or `MemoryError` as itself, and others with its traceback."""
        try:
            return future.result()
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, LensError | MemoryError) else error) from None
        except self._ray.exceptions.RayError as error:  # the actor, its machine or its answer is lost
            gist = str(error).strip().splitlines()[-1].partition(" Some common causes")[0].strip()[:300]
            raise ClusterError(
                f"an actor was lost {MAX_LOSSES + 1} times at the same work: {gist.removesuffix('.')}. Look for a "
                "machine that is short of memory or has another installation; use fewer actors or a smaller model"
            ) from error


def _await_one(futures: Sequence[Future[Any]]) -> None:
    """Wait until one has ended; looks up as a forward on this machine would.

    The wait is Python's, because an exception of a signal handler comes out of Ray's as a SystemError.
    """
    look_up()
    while not wait(futures, 0.2, FIRST_COMPLETED).done:
        look_up()
