"""The contract of a method: one way to choose demonstrations among the candidates.

LENS and random search implement it; a caller may hand in methods of its own. Every method chooses among the same
candidates and is judged on the same rows, so that results of different methods can be compared.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray

from lens_engine.config import SelectionConfig
from lens_engine.judging.score import Score
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.methods.permutations import keep_apart
from lens_engine.pricing.prices import Prices
from lens_engine.rows.splits import SplitRows
from lens_engine.task.template import Task
from lens_engine.types import LabelLogProbs, Permutation, Phase, StopReason

S = TypeVar("S")

_POOL = 24
"""Largest number of permutations from which the members of an ensemble are chosen."""


@dataclass(frozen=True)
class Run:
    """The input of a method: the task, the options, the rows, and the price of scoring them."""

    task: Task
    config: SelectionConfig
    rows: SplitRows
    prices: Prices
    dtype: str = "float32"  #: number format of the log-probabilities


class FirstStep(NamedTuple):
    """The first step after which a method has a permutation."""

    name: str  #: as an error message names the step: "the first round of filtering"
    cost: Cost


@dataclass(frozen=True, slots=True)
class PackedState:
    """A method's state, as a checkpoint stores it."""

    values: Mapping[str, Any] = field(default_factory=dict)  #: JSON values
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """What a method found besides its choice; empty for a method that judges no permutations."""

    finalists: tuple[Permutation, ...] = ()  #: the best permutations, best first
    scores: tuple[Score, ...] = ()  #: score of each finalist on the validation rows
    info_scores: Mapping[int, float] = field(default_factory=dict)  #: by index of the candidate
    charged_pairs: int = 0  #: (permutation, row) pairs; random-and-validation gets as many
    num_judged: int = 0  #: permutations judged on all or some validation rows
    num_dropped: int = 0  #: permutations dropped before the last validation row
    warnings: tuple[str, ...] = ()
    pool: tuple[Permutation, ...] = ()  #: permutations that may become members of an ensemble, best first
    pool_log_probs: LabelLogProbs | None = None  #: `[pool, rows, labels]` on the validation rows; None if not judged


def pick_pool(ranked: Sequence[Permutation], config: SelectionConfig) -> list[Permutation]:
    """The permutations from which the members of an ensemble are chosen: the best of which no two are alike.

    Prompts that share demonstrations make the same mistakes: two may share a quarter of them. If too few do, those that
    share the fewest are added, up to the number of members that the ensemble may have.

    Args:
        ranked: permutations that were judged on every validation row, the best first.
    """
    most_shared = max(map(len, ranked), default=0) // 4
    return keep_apart(ranked, _POOL, most_shared, least=config.classifier.max_prompts)


class Method(ABC, Generic[S]):
    """One way to choose demonstrations among the candidates.

    A permutation is a tuple of indices into `run.rows.candidates`. A method keeps no state of its own: all that it has
    found is in a state of type `S`, so that a run can be resumed from any state that `steps` yields.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def num_demonstrations(self) -> int:
        """Number of demonstrations in a prompt."""
        return self.run.config.num_demonstrations

    @property
    def num_finalists(self) -> int:
        """Number of permutations that are judged again on the confirmation rows; 0 if the method's choice is final."""
        return 0

    @property
    def planned_pairs(self) -> int | None:
        """Number of (permutation, row) pairs that a full search is charged for.

        None for a method that is not compared with random-and-validation at equal budget.
        """
        return None

    @property
    def num_prompts(self) -> int:
        """Largest number of prompts of the classifier; 1 if the method proposes no others than its choice."""
        return 1

    @property
    def judges_prompts(self) -> bool:
        """Whether the prompts of the classifier were judged on all validation rows."""
        return False

    @abstractmethod
    def price(self) -> dict[Phase, Cost]:
        """The cost of each phase before the evaluation: the pairs are an upper bound, the tokens an estimate."""

    def first_step(self) -> FirstStep:
        """The first step after which there is a permutation to test, with its cost."""
        return FirstStep("a first permutation", Cost())

    @abstractmethod
    def start(self) -> S:
        """The state before the first step."""

    @abstractmethod
    def steps(self, state: S, meter: Meter) -> Iterator[S]:
        """Continue from `state` and score with `meter`; yields the state after each step.

        Each state yielded is stored as a checkpoint. The last state holds the finished choice.

        Raises:
            Stopped: from the meter; the last state yielded stays valid.
        """

    @abstractmethod
    def choice(self, state: S) -> Permutation | None:
        """The permutation chosen so far; None if no permutation is chosen yet."""

    @abstractmethod
    def fallback(self, state: S, reason: StopReason) -> Permutation:
        """The permutation of a run that was stopped for `reason` before it had a choice.

        Raises:
            NothingSelected: the state gives no reason to prefer any permutation.
        """

    def findings(self, _state: S) -> Findings:
        """What the method found besides its choice."""
        return Findings()

    @abstractmethod
    def pack(self, state: S) -> PackedState:
        """The state, as a checkpoint stores it."""

    @abstractmethod
    def unpack(self, packed: PackedState) -> S:
        """The state from which `pack` made `packed`."""
