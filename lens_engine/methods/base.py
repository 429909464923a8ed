"""The contract of a method: one way to choose demonstrations among the candidates.

LENS is one; random search and the coreset methods are others. All of them choose among the same candidates, and are
judged on the same rows, so that a comparison is one of methods.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lens_engine.config import SelectionConfig
from lens_engine.judging.score import Score
from lens_engine.language_model.fine_tuning.evidence import FineTuner
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.pricing.prices import Prices
from lens_engine.rows.splits import SplitRows
from lens_engine.task.template import Task
from lens_engine.types import FloatArray, Permutation, Phase, StopReason

S = TypeVar("S")


@dataclass(frozen=True)
class Run:
    """What a method works on: the task, the options, the rows, and what scoring them costs."""

    task: Task
    config: SelectionConfig
    rows: SplitRows
    prices: Prices
    fine_tuner: FineTuner | None = None  #: for methods that choose by a fine-tuned model


class FirstStep(NamedTuple):
    """The first step of a method that leads to a permutation."""

    name: str  #: for a message: "the first round of filtering"
    cost: Cost


@dataclass(frozen=True, slots=True)
class PackedState:
    """A method's state as a checkpoint holds it."""

    values: Mapping[str, Any] = field(default_factory=dict)  #: JSON values
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """What a method knows beside its choice; a method that judges nothing knows nothing."""

    finalists: tuple[Permutation, ...] = ()  #: the best, best first
    scores: tuple[Score, ...] = ()  #: of each finalist, on the validation rows
    margins: FloatArray = field(default_factory=lambda: np.empty((0, 0)))  #: `[finalists, rows]`, nats
    info_scores: Mapping[int, float] = field(default_factory=dict)  #: by candidate
    charged_pairs: int = 0  #: (permutation, row) pairs that the rival at equal budget gets too
    num_judged: int = 0  #: permutations, in whole or in part
    num_dropped: int = 0  #: of them, before the last validation row
    warnings: tuple[str, ...] = ()


class Method(ABC, Generic[S]):
    """One way to choose demonstrations among the candidates.

    A permutation is a tuple of indices into `run.rows.candidates`. What a method has found is in the value of type `S`
    that goes in and comes out, so that a run can be resumed from any of them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def num_demonstrations(self) -> int:
        """Demonstrations in a prompt."""
        return self.run.config.num_demonstrations

    @property
    def num_finalists(self) -> int:
        """Permutations that are judged again on the confirmation rows; 0 for a method whose choice is final."""
        return 0

    @property
    def planned_pairs(self) -> int | None:
        """(permutation, row) pairs that a full search is charged with.

        None for a method that is not compared with random-and-validation at equal budget.
        """
        return None

    def check(self) -> None:
        """Find out before the run what would fail later.

        Raises:
            InvalidConfig: the method lacks what it chooses by.
        """

    @abstractmethod
    def price(self) -> dict[Phase, Cost]:
        """The cost of each phase before the evaluation, at most."""

    def first_step(self) -> FirstStep:
        """The least that has to be paid before there is a permutation to test."""
        return FirstStep("a first permutation", Cost())

    @abstractmethod
    def start(self) -> S:
        """The state of a run that has done nothing."""

    @abstractmethod
    def steps(self, state: S, meter: Meter) -> Iterator[S]:
        """Go on from a state; `meter` scores. Each value is worth a checkpoint, and the last holds the finished choice.

        Raises:
            Stopped: from the meter; the last value given holds.
        """

    @abstractmethod
    def choice(self, state: S) -> Permutation | None:
        """The permutation chosen so far; None before there is one."""

    @abstractmethod
    def fallback(self, state: S, reason: StopReason) -> Permutation:
        """What to serve when a run was stopped before it had a choice.

        Raises:
            NothingSelected: nothing is known that speaks for any permutation.
        """

    def findings(self, _state: S) -> Findings:
        """What the method knows beside its choice."""
        return Findings()

    @abstractmethod
    def pack(self, state: S) -> PackedState:
        """The state as a checkpoint holds it."""

    @abstractmethod
    def unpack(self, packed: PackedState) -> S:
        """The state that `pack` packed."""
