"""Real actors over a local Ray, which lives as long as this module."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from lens_engine.errors import ClusterError, InvalidConfig, ModelError, OutOfMemory, PromptTooLong, UnknownModel
from lens_engine.model.base import Block
from lens_engine.model.cluster.scorer import (
    AHEAD,
    MAX_LOSSES,
    ActorReport,
    Placement,
    RayScorer,
    ScoringActor,
    Setup,
    find_place,
)
from lens_engine.model.limits import interrupted_by
from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.scorer import CausalLMScorer
from lens_engine.model.local.torch_choices import describe_surroundings
from lens_engine.testing import TableScorer
from lens_engine.types import LabelLogProbs
from tests.tiny_models import TINY_CONTEXT, tiny_causal_lm

ray = pytest.importorskip("ray")

SPANS = (" great", " terrible")
NUM_CPUS = 4  # as Ray counts: for two teams of two
FULL_BUDGET, SMALL_BUDGET = 1024, 512


class TableActor(ScoringActor):
    """Answers from a table and adds the token budget. The first word of a block's first query may be an order.

    The model's name is a folder where actors leave marks for each other and for the test.
    """

    def _make_scorer(self, choice: dict[str, Any]) -> Any:
        self._folder = Path(choice["model"])
        number = self._mark("loaded")
        if number > 1 and (self._folder / "die-while-loading").exists():
            os._exit(1)
        if (self._folder / "no-memory").exists():
            raise OutOfMemory("planted")
        processor = f"GPU {number if (self._folder / 'mixed').exists() else 0}"
        identity = replace(TableScorer().identity, token_budget=FULL_BUDGET)
        surroundings = ("torch 2", processor)
        return SimpleNamespace(identity=identity, max_prompt_tokens=100, surroundings=surroundings, num_layers=0)

    def score(self, setup: Setup, block: Block, spans: Sequence[str], token_budget: int) -> tuple[LabelLogProbs, int]:
        self.load(setup)
        assert tuple(spans) == SPANS
        order = block.queries[0].split()[0]
        number = self._mark(order)
        if order == "die" or (order == "die-once" and number == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if order == "slow":
            time.sleep(1.0)
        if order == "bug":
            raise ZeroDivisionError("planted")
        used = min(token_budget, SMALL_BUDGET) if order == "fat" else token_budget
        return expected_scores(block, used), used

    def _mark(self, name: str) -> int:
        """How often it has happened, by now."""
        (self._folder / f"{name}.{os.getpid()}.{time.monotonic_ns()}").touch()
        return len(list(self._folder.glob(f"{name}.*")))


def expected_scores(block: Block, token_budget: int = FULL_BUDGET) -> LabelLogProbs:
    scores = TableScorer(max_prompt_tokens=100).score_block(block, SPANS)
    return np.asarray(scores + np.float32(token_budget))


def make_blocks(*orders: str) -> list[Block]:
    return [Block(((f"prefix {place}",), ()), (f"{order} {place}", "more")) for place, order in enumerate(orders)]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # actors cannot import a test
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        with find_place(None, NUM_CPUS, "cpu"):
            yield ray


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal_lm("llama").save(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def two_actors(session: Any, tiny_folder: Path) -> Iterator[RayScorer]:
    assert session.is_initialized()
    scorer = RayScorer.start(str(tiny_folder), actors=2, device="cpu", name="tiny")
    yield scorer
    scorer.close()


@pytest.fixture(scope="module")
def one_scorer(tiny_folder: Path, two_actors: RayScorer) -> Iterator[CausalLMScorer]:
    """With the number format that the actors have settled on."""
    before = torch.get_num_threads()
    dtype = two_actors.identity.dtype
    yield load_scorer(str(tiny_folder), threads=1, device="cpu", dtype=dtype, name="tiny")
    torch.set_num_threads(before)


@pytest.fixture
def start_table(session: Any, tmp_path: Path) -> Iterator[Callable[..., RayScorer]]:
    """A scorer over table actors, which ends with the test."""
    assert session.is_initialized()
    with ExitStack() as exits:

        def start(size: int = 2) -> RayScorer:
            scorer = RayScorer(Placement(size, "cpu", 1), {"model": str(tmp_path)}, kind=TableActor)
            exits.callback(scorer.close)
            scorer.load()
            return scorer

        yield start


def find_pids(scorer: RayScorer) -> list[int]:
    return [ray.get(actor.__ray_call__.remote(lambda _: os.getpid())) for actor in scorer._actors]


def collect(scorer: RayScorer, blocks: Sequence[Block]) -> list[LabelLogProbs]:
    return list(scorer.score_blocks(blocks, SPANS))


def same(found: Sequence[LabelLogProbs], expected: Sequence[LabelLogProbs]) -> bool:
    return len(found) == len(expected) and all(map(np.array_equal, found, expected))


def sample_blocks(count: int) -> list[Block]:
    """Of several forwards each, since bits depend on how forwards are cut."""
    return [
        Block(
            tuple((f"A text, {place} of {number}. It was great.\n",) for number in range(8)),
            tuple(f"Another text, {place} {'and ' * number}so on. It was" for number in range(12)),
        )
        for place in range(count)
    ]


def test_actors_may_differ_in_why_an_executor_was_refused() -> None:
    """The first actor tries them all, and the others are told which to take."""
    plain, cached = (replace(TableScorer().identity, executor=name) for name in ("plain", "cached"))
    first = ActorReport(plain, 100, ())
    noted = replace(first, identity=replace(plain, executor_note="packed: refused"))
    noted.check(first)
    with pytest.raises(ClusterError, match="numbers; executor plain, and executor cached: use"):
        replace(first, identity=cached).check(noted)


def test_several_actors_give_the_bits_of_one_scorer(two_actors: RayScorer, one_scorer: CausalLMScorer) -> None:
    blocks = sample_blocks(9)

    found = collect(two_actors, blocks)

    assert same(found, [one_scorer.score(block.prefixes, block.queries, SPANS) for block in blocks])
    paired = [Block(block.prefixes, block.queries[:8], is_paired=True) for block in blocks]
    assert same(collect(two_actors, paired), [one_scorer.score_block(block, SPANS) for block in paired])
    assert (two_actors.num_workers, len(set(find_pids(two_actors)))) == (2, 2)


def test_scorer_of_actors_says_of_itself_what_one_says(two_actors: RayScorer, one_scorer: CausalLMScorer) -> None:
    segments = ["It was great.", "", "terrible"]

    assert two_actors.identity == one_scorer.identity
    assert two_actors.surroundings == describe_surroundings("cpu")
    assert two_actors.max_prompt_tokens == one_scorer.max_prompt_tokens
    assert two_actors.count_tokens(segments) == one_scorer.count_tokens(segments)
    assert two_actors.encode_label_spans(SPANS) == one_scorer.encode_label_spans(SPANS)


def test_refusal_of_an_actor_arrives_as_itself(two_actors: RayScorer) -> None:
    with pytest.raises(PromptTooLong, match=f"exceeds the model's {TINY_CONTEXT}") as refusal:
        two_actors.score([("word " * TINY_CONTEXT,)], ["a"], SPANS)
    assert type(refusal.value) is PromptTooLong
    assert refusal.value.field == "examples"


def test_block_of_a_lost_actor_is_scored_again(start_table: Callable[..., RayScorer], tmp_path: Path) -> None:
    blocks = make_blocks("a", "die-once", "b", "c", "d", "e")

    scorer = start_table()

    assert same(collect(scorer, blocks), [expected_scores(block) for block in blocks])
    assert same(collect(scorer, blocks), [expected_scores(block) for block in blocks])
    assert len(list(tmp_path.glob("die-once.*"))) == 3, "twice in the first run"


def test_only_actor_that_dies_between_two_calls_is_replaced(start_table: Callable[..., RayScorer]) -> None:
    scorer = start_table(1)
    os.kill(find_pids(scorer)[0], signal.SIGKILL)

    assert scorer.score([()], ["a"], SPANS).shape == (1, 1, 2)


def test_block_that_ends_every_actor_is_given_up(start_table: Callable[..., RayScorer], tmp_path: Path) -> None:
    scorer = start_table()

    with pytest.raises(ClusterError, match=f"an actor was lost {MAX_LOSSES + 1} times at the same work"):
        collect(scorer, make_blocks("a", "b", "die", "c"))
    assert len(list(tmp_path.glob("die.*"))) == MAX_LOSSES + 1


@pytest.mark.parametrize(
    ("mark", "kind", "message"),
    [
        ("die-while-loading", ClusterError, "an actor was lost 4 times"),
        ("no-memory", OutOfMemory, r"^planted$"),
        ("mixed", ClusterError, "numbers; GPU 1, and GPU 2: use"),
    ],
)
def test_failure_of_loading_is_told(
    mark: str, kind: type[ModelError], message: str, start_table: Callable[..., RayScorer], tmp_path: Path
) -> None:
    (tmp_path / mark).touch()

    with pytest.raises(kind, match=message):
        start_table()


def test_error_comes_in_the_turn_of_its_block(start_table: Callable[..., RayScorer]) -> None:
    blocks = make_blocks("slow", "bug", "a")
    found = list[LabelLogProbs]()

    with pytest.raises(ZeroDivisionError, match="planted"):
        found.extend(start_table().score_blocks(blocks, SPANS))

    assert same(found, [expected_scores(blocks[0])])


def test_signal_and_stop_end_the_wait_for_an_actor(start_table: Callable[..., RayScorer]) -> None:
    """As the time limit and the shutdown of a worker do, and a cancel request."""
    scorer = start_table()
    (slow,) = make_blocks("slow")

    def interrupt(*_: object) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(InterruptedError):
        scorer.score(slow.prefixes, slow.queries, SPANS)
    signal.signal(signal.SIGALRM, before)
    with pytest.raises(InterruptedError), interrupted_by(interrupt):
        scorer.score(slow.prefixes, slow.queries, SPANS)


def test_slow_actor_does_not_hold_the_other(start_table: Callable[..., RayScorer], tmp_path: Path) -> None:
    scorer = start_table()
    orders = ["slow", *["a"] * 40]

    answers = scorer.score_blocks(make_blocks(*orders), SPANS)
    next(answers)

    assert len(list(tmp_path.glob("a.*"))) >= 2 * AHEAD - 2, "done by the other one while the first block was scored"
    assert len(list(answers)) == 40


def test_blocks_are_taken_only_as_they_can_be_scored(start_table: Callable[..., RayScorer]) -> None:
    taken = list[Block]()

    def offer() -> Iterator[Block]:
        for block in make_blocks(*["a"] * 100):
            taken.append(block)
            yield block

    answers = start_table().score_blocks(offer(), SPANS)
    assert taken == []
    for number in range(1, 101):
        next(answers)
        assert len(taken) < number + 2 * AHEAD
    assert list(answers) == []


def test_halved_budget_of_one_actor_holds_for_all_later_blocks(start_table: Callable[..., RayScorer]) -> None:
    scorer = start_table()
    blocks = make_blocks("a", "slow", "b", "fat", "c", "d", "e", "f", "g")

    found = collect(scorer, blocks)

    budgets = [FULL_BUDGET] * 3 + [SMALL_BUDGET] * 6
    assert same(found, [expected_scores(block, budget) for block, budget in zip(blocks, budgets, strict=True)])
    assert scorer.identity.token_budget == SMALL_BUDGET
    assert same(collect(scorer, blocks[:1]), [expected_scores(blocks[0], SMALL_BUDGET)])


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"actors": 0}, "actors", "at least 1"),
        ({"actors": None}, "actors", "without a GPU in Ray, the number of actors must be given"),
        ({"actors": 3, "device": "cuda"}, "actors", "3 actors need 3 GPUs, and Ray has 0"),
        ({"actors": 5}, "actors", "5 actors need 5 CPUs, and Ray has 4"),
    ],
)
def test_what_the_machine_cannot_do_is_refused(
    session: Any, given: dict[str, Any], field: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with pytest.raises(InvalidConfig, match=message) as refusal:
        RayScorer.start("no-model", **given)
    assert refusal.value.field == field
    assert session.cluster_resources()["CPU"] == NUM_CPUS


@pytest.mark.parametrize(
    ("actors", "device", "variable", "place"),
    [
        (None, "auto", "2", Placement(3, "cuda", None)),
        (2, "cuda", "", Placement(2, "cuda", None)),
        (2, "cpu", "2", Placement(2, "cpu", 2)),
    ],
)
def test_actors_are_as_many_as_gpus_unless_their_number_is_given(
    actors: int | None, device: str, variable: str, place: Placement, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = session.cluster_resources() | {"GPU": 3.0}
    monkeypatch.setattr(ray, "cluster_resources", lambda: has)
    monkeypatch.setenv("OMP_NUM_THREADS", variable)

    with find_place(None, actors, device) as found:
        assert found == place


def test_model_that_is_not_there_is_refused_by_its_name(session: Any, tmp_path: Path) -> None:
    assert session.is_initialized()
    with pytest.raises(UnknownModel, match="nowhere"):
        RayScorer.start(str(tmp_path / "nowhere"), actors=1, device="cpu")


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(InvalidConfig, match=r"pip install -c constraints.txt '.\[cluster\]'"):
        RayScorer.start("no-model", actors=2)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1:1", "refused"),
        ("somewhere", "not host:port"),
        ("ray://127.0.0.1:10001", "not host:port"),
        ("127.0.0.1:99999", "port"),
    ],
)
def test_address_where_no_cluster_is_gets_refused(address: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)  # a process that is connected stays so

    with pytest.raises(InvalidConfig, match=f"could not be reached at '{address}': .*{reason}") as refusal:
        RayScorer.start("no-model", actors=2, address=address)
    assert refusal.value.field == "ray_address"


def test_ray_leaves_the_signals_of_the_process_alone(session: Any) -> None:
    assert session.is_initialized()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
