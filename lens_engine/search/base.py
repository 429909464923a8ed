"""The contract of a method: one way to choose demonstrations among the candidates.

LENS and random search implement it. Every method chooses among the same
candidates and is judged on the same rows, so that results of different methods can be compared.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray

from lens_engine.config import USES, SelectionConfig, Use
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Prices
from lens_engine.retrieval.pool import Pool
from lens_engine.rows.near_texts import count_near
from lens_engine.rows.pool_rows import DrawnPool, draw_pool
from lens_engine.rows.splits import SplitRows
from lens_engine.task.template import Task
from lens_engine.types import FloatArray, LabelLogProbs, Permutation, Phase, StopReason

S = TypeVar("S")


@dataclass(frozen=True)
class Run:
    """The input of a method: the task, the options, the rows, and the price of scoring them."""

    task: Task
    config: SelectionConfig
    rows: SplitRows
    prices: Prices
    dtype: str = "float32"  #: number format of the log-probabilities
    shows_states: bool = False  #: whether the scorer shows hidden states
    has_probabilities: bool = True  #: whether the scores are probabilities, and not answers alone

    @cached_property
    def pool(self) -> Pool:
        """The labelled rows that no split judges with; those of a prompt are found among them."""
        return self.drawn_pool.pool

    @cached_property
    def drawn_pool(self) -> DrawnPool:
        return draw_pool(self.rows.pool_rows, self.config.seed)

    @cached_property
    def near_test_rows(self) -> int:
        """How many test rows have a text that is nearly equal to that of a row of another split."""
        rows = self.rows
        others = (*rows.candidates, *rows.score_set, *rows.validation, *rows.confirmation, *rows.spare)
        return count_near(rows.test, others)

    @property
    def uses(self) -> tuple[Use, ...]:
        """The uses that the model allows."""
        return USES if self.has_probabilities else (self.config.use,)

    @property
    def reads_label_probabilities(self) -> bool:
        """Whether a classifier that reads label probabilities is a candidate."""
        kind = self.config.classifier.kind
        if not self.has_probabilities or kind in ("none", "bag_of_words"):
            return False
        return kind == "label_probabilities" or not self.shows_states


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

    finalists: tuple[Permutation, ...] = ()  #: the best permutations: of the use of the run, best first, then others
    log_probs: LabelLogProbs | None = None  #: `[finalists, rows, labels]` on the validation rows
    info_scores: Mapping[int, float] = field(default_factory=dict)  #: by index of the candidate
    gains: Mapping[int, FloatArray] = field(default_factory=dict)  #: on the first rows of the score set
    num_judged: int = 0  #: permutations judged on all or some validation rows
    num_dropped: int = 0  #: permutations dropped before the last validation row
    best_accuracy: float | None = None  #: of the best finalist on the validation rows
    survivors: int | None = None  #: candidates that filtering has kept so far; None without filtering
    warnings: tuple[str, ...] = ()


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
        """Largest number of permutations that are judged again on the confirmation rows."""
        return 1

    @property
    def judges_finalists(self) -> bool:
        """Whether the finalists were judged on all validation rows."""
        return False

    @property
    def is_search(self) -> bool:
        """Whether the method is compared with random-and-validation at the same cost."""
        return False

    @abstractmethod
    def price(self) -> dict[Phase, Cost]:
        """The cost of each phase before the comparison: the pairs are an upper bound, the tokens an estimate."""

    def first_step(self) -> FirstStep:
        """The first step after which there is a permutation to test, with its cost."""
        return FirstStep("a first set of examples", Cost())

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
