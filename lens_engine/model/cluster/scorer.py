"""A scorer with an actor for each device, for one selection on several devices.

Every actor holds the whole model, of whose states a classifier is made; a model server gives none. Blocks are cut as
for one device, and all actors are of one kind with one token budget. So the bits equal those of one such device.
"""

import dataclasses
import logging
import os
import signal
import socket
import threading
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from lens_engine.errors import ClusterError, InvalidConfig, LensError
from lens_engine.model.base import Block, BlockScorer, Prefix, ScorerIdentity
from lens_engine.model.limits import look_up
from lens_engine.model.local.choices import count_processors, let_threads_sleep
from lens_engine.types import LabelLogProbs, States


@dataclass(frozen=True, slots=True)
class ActorReport:
    """What decides an actor's bits; all actors of a selection must report the same."""

    identity: ScorerIdentity
    max_prompt_tokens: int
    surroundings: tuple[str, ...]  #: as `describe_surroundings`
    num_layers: int = 0  #: decoder layers whose states it shows

    def check(self, first: "ActorReport") -> None:
        """Refuse a report that is not that of the first actor (ClusterError)."""
        pairs = zip(first._lines(), self._lines(), strict=True)
        if differences := [f"{theirs}, and {ours}" for theirs, ours in pairs if theirs != ours]:
            raise ClusterError(
                f"the actors would not give the same numbers; {'; '.join(differences)}: use machines of one kind "
                "with the same release and the same model files"
            )

    def _lines(self) -> list[str]:
        fields = [f"{name} {value}" for name, value in self.identity.decisive().items()]
        return [*fields, f"context {self.max_prompt_tokens}", *self.surroundings]


class Setup(NamedTuple):
    """What an actor loads, and what it must report then."""

    choice: dict[str, Any]  #: arguments of `load_scorer`
    report: ActorReport | None = None  #: of the first actor; None before it has loaded


class ScoringActor:
    """A scorer in its own process. Ray makes a lost one anew, so each call brings what it needs to load the model."""

    _scorer: Any
    _report: ActorReport | None = None

    def load(self, setup: Setup) -> ActorReport:
        """Load the model, if it is not loaded; raises what `load_scorer` raises, and ClusterError."""
        if self._report is None:
            self._scorer = found = self._make_scorer(setup.choice)
            report = ActorReport(found.identity, found.max_prompt_tokens, found.surroundings, found.num_layers)
            report.check(setup.report or report)
            self._report = report
        return self._report

    def call(self, setup: Setup, method: str, *given: Any) -> Any:
        """What a method of the scorer returns."""
        self.load(setup)
        return getattr(self._scorer, method)(*given)

    def score(self, setup: Setup, block: Block, spans: Sequence[str], token_budget: int) -> tuple[LabelLogProbs, int]:
        """The scores of a block, and the largest forward that was used (tokens): less where memory ran out."""
        self.load(setup)
        self._scorer.token_budget = token_budget
        return self._scorer.score_block(block, spans), self._scorer.token_budget

    def _make_scorer(self, choice: dict[str, Any]) -> Any:
        let_threads_sleep()
        from lens_engine.model.local.load import load_scorer  # here: the driver does not need torch

        return load_scorer(**choice)


_OBJECT_STORE_BYTES = 256 * 2**20  # Ray would reserve a third of the memory, but scores are small
_KNOCK_SECONDS = 10.0


class Placement(NamedTuple):
    """How many actors there are, and what each has: a GPU, or threads of a processor."""

    actors: int
    device: str  #: "cpu" or "cuda"
    threads: int | None  #: of torch on the CPU; None on CUDA


@contextmanager
def find_place(address: str | None, actors: int | None, device: str) -> Iterator[Placement]:
    """Connect to Ray, and find out where its devices let actors run. The connection ends with the context.

    On the CPU, an actor has OMP_NUM_THREADS torch threads, or else an equal share of this machine's cores.

    Args:
        address: "host:port" of a cluster of which this machine is a node, or "auto"; None or "local" starts Ray here.
        actors: number of actors; None for one on each GPU of the cluster.
        device: "cuda", "cpu", or "auto" for CUDA if the cluster has GPUs.

    Raises:
        InvalidConfig: Ray is missing or cannot be reached, or the cluster is too small.
    """
    if actors is not None and actors < 1:
        raise InvalidConfig(f"actors must be at least 1, not {actors}", field="actors")
    if device not in {"auto", "cpu", "cuda"}:
        problem = f"device {device!r} is one device; several actors take auto, cpu or cuda"
        raise InvalidConfig(problem, field="device")
    cores, given = count_processors(), os.environ.get("OMP_NUM_THREADS", "")
    share = (int(given) if given.isdecimal() else 0) or max(1, cores // (actors or 1))
    with _connected(address, max(cores, share * (actors or 1)), 0 if device == "cpu" else None) as ray:
        has = ray.cluster_resources()  # busy or free
        if device == "auto":
            device = "cuda" if has.get("GPU", 0) >= 1 else "cpu"
        if not (actors := actors or (int(has.get("GPU", 0)) if device == "cuda" else 0)):
            problem = "without a GPU in Ray, the number of actors must be given: each is a process with the model"
            raise InvalidConfig(problem, field="actors")
        kind, needed = ("CPU", actors * share) if device == "cpu" else ("GPU", actors)
        if needed > has.get(kind, 0):
            problem = f"{actors} actors need {needed} {kind}s, and Ray has {has.get(kind, 0):g}"
            raise InvalidConfig(f"{problem}; ask for fewer actors, or for another device", field="actors")
        yield Placement(actors, device, share if device == "cpu" else None)


def import_ray() -> Any:
    """The module `ray`, with its usage reports off unless the environment turns them on."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        install = "in the folder of Lens, run: pip install -c constraints.txt '.[cluster]'"
        raise InvalidConfig(f"several actors need Ray, which is not installed; {install}", field="actors") from error
    return ray


@contextmanager
def _connected(address: str | None, num_cpus: int, num_gpus: int | None) -> Iterator[Any]:
    """The module `ray`, connected. Ray is started here with these numbers of CPUs and GPUs (None: all), or joined."""
    ray = import_ray()
    if ray.is_initialized():  # the connection of the process stays
        yield ray
        return
    logging.getLogger("ray").setLevel(logging.ERROR)
    handler = signal.getsignal(signal.SIGTERM)
    _connect(ray, address or "local", num_cpus, num_gpus)
    try:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray has set its own
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str, num_cpus: int, num_gpus: int | None) -> None:
    """Start or join Ray, or refuse the address (InvalidConfig)."""
    try:
        if address not in {"local", "auto"}:  # Ray would try for minutes
            host, found, port = address.rpartition(":")
            if not found or "/" in address or not port.isdecimal():
                raise ValueError("this is not host:port")
            socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()
        here = {"num_cpus": num_cpus, "num_gpus": num_gpus, "object_store_memory": _OBJECT_STORE_BYTES}
        options: dict[str, Any] = {**here, "include_dashboard": False} if address == "local" else {}
        ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        if address == "local":
            raise InvalidConfig(f"Ray could not be started on this machine: {error}", field="actors") from error
        raise InvalidConfig(
            f"Ray could not be reached at {address!r}: {error}; give host:port of a running head of which this machine "
            "is a node, and in RAY_AUTH_MODE=token and RAY_AUTH_TOKEN its token if it has one",
            field="ray_address",
        ) from error


DEPTH = 2  # blocks that an actor has at a time, so that it need not wait for the next one
AHEAD = 8  # blocks for each actor that are taken before the oldest is answered: bounds the delay by a slow actor
MAX_LOSSES = 3  # how often an actor is made anew for one call


class _Call(NamedTuple):
    block: Block
    actor: int
    token_budget: int | None
    future: Future[Any]


class RayScorer(BlockScorer):
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

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """As `LabelScorer`. A block is taken when an actor can soon score it."""
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
