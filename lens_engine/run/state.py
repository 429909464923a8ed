"""The state of a run: everything that it has found so far, and its form in a checkpoint."""

from dataclasses import astuple, dataclass, field
from typing import Any, Generic, TypeVar

from lens_engine.classifier.candidates import Candidate
from lens_engine.metering.cost import Cost
from lens_engine.retrieval.form import PromptForm
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.scoring.spending import Paid
from lens_engine.search.base import Method, PackedState
from lens_engine.search.random import RandomTally
from lens_engine.types import Permutation, Phase, Record, StopReason, StoredLogProbs

S = TypeVar("S")


class JudgedPrompt(Record):
    """A permutation, and its label log-probabilities `[rows, labels]`."""

    permutation: Permutation
    log_probs: StoredLogProbs


class JudgedForm(Record):
    """A form of the prompt other than fixed demonstrations, and what the model said with it.

    A form that the halving dropped has no log-probabilities.
    """

    form: PromptForm
    permutation: Permutation  #: fixed demonstrations before those that are found
    accuracy: float  #: of the likeliest label word
    macro_f1: float  #: of the same answers
    rows: int  #: number of rows on which it was judged
    log_probs: StoredLogProbs | None = None  #: `[rows, labels]` on validation and confirmation rows
    tested: StoredLogProbs | None = None  #: on the test rows


class JudgedWording(Record):
    """A template with an instruction, and how often random permutations in it are right."""

    place: int  #: among the runs, from 0
    accuracy: float  #: mean over the permutations, on the rows on which it was judged
    macro_f1: float  #: the same of macro-F1
    rows: int  #: number of these rows


class ComparisonState(Record):
    """The findings of the comparison phase; `done` names the finished steps."""

    done: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  #: steps the budget did not cover
    choice_pairs: int = 0  #: spent on the choice of a prompt so far; random-and-validation gets as many
    choice_tokens: int = 0  #: likewise
    judged: tuple[JudgedPrompt, ...] = ()  #: the finalists on validation and confirmation rows
    zero_shot: JudgedPrompt | None = None  #: on the same rows
    forms: tuple[JudgedForm, ...] = ()  #: other forms of the prompt, the finalist first
    rivals: tuple[JudgedPrompt, ...] = ()  #: the best of random-and-validation, on the same rows
    tested: tuple[JudgedPrompt, ...] = ()  #: on the test rows
    tally: RandomTally = RandomTally()  #: random-and-validation, so far
    candidates: tuple[Candidate, ...] = ()  #: for the classifier

    @property
    def choice(self) -> Cost:
        """What the choice of a prompt cost so far, without that among wordings: every prompt has the chosen one."""
        return Cost(self.choice_pairs, self.choice_tokens)

    def paying(self, cost: Cost) -> "ComparisonState":
        """The comparison after more was spent on the choice of a prompt."""
        paid = self.choice + cost
        return self.model_copy(update={"choice_pairs": paid.pairs, "choice_tokens": paid.tokens})

    def after(self, step: str, *, is_skipped: bool = False) -> "ComparisonState":
        """The comparison after a step, or without it if the budget did not cover it."""
        skipped = (*self.skipped, step) if is_skipped else self.skipped
        return self.model_copy(update={"done": (*self.done, step), "skipped": skipped})


@dataclass(frozen=True)
class RunState(Generic[S]):
    """The state between two steps of a run."""

    method: S  #: the method's own state
    chosen: Permutation | None = None  #: the method's choice; None before the method has ended
    ended: StopReason | None = None  #: why the method ended
    comparison: ComparisonState = field(default_factory=ComparisonState)
    spent: Cost = Cost()
    seconds: float = 0.0
    pairs_from_cache: int = 0
    refused: int = 0
    paid: Paid = Paid()
    wordings: tuple[JudgedWording, ...] = ()  #: the chosen one first; none before the choice, or without one
    worded: Cost = Cost()  #: what the choice among them cost
    cut_off: Phase | None = None  #: phase in which a limit ended the method

    def to_checkpoint(self, method: Method[S], fingerprint: str, dtype: str, phase: Phase, step: int) -> Checkpoint:
        packed = method.pack(self.method)
        values = {
            "method": dict(packed.values),
            "wordings": [one.model_dump() for one in self.wordings],
            "worded": [self.worded.pairs, self.worded.tokens],
            "chosen": None if self.chosen is None else list(self.chosen),
            "ended": self.ended,
            "cut_off": self.cut_off,
            "evaluation": self.comparison.model_dump(mode="json"),
            "spent": [self.spent.pairs, self.spent.tokens, self.seconds],
            "pairs_from_cache": self.pairs_from_cache,
            "refused": self.refused,
            "paid": astuple(self.paid),
        }
        return Checkpoint(fingerprint, phase, step, dtype, values, dict(packed.arrays))

    @classmethod
    def from_checkpoint(cls, method: Method[S], checkpoint: Checkpoint) -> "RunState[S]":
        values: dict[str, Any] = checkpoint.values
        pairs, tokens, seconds = values["spent"]
        return cls(
            method=method.unpack(PackedState(values["method"], checkpoint.arrays)),
            wordings=read_wordings(checkpoint),
            worded=Cost(*values["worded"]),
            chosen=None if values["chosen"] is None else tuple(values["chosen"]),
            ended=None if values["ended"] is None else StopReason(values["ended"]),
            cut_off=None if values["cut_off"] is None else Phase(values["cut_off"]),
            comparison=ComparisonState.model_validate(values["evaluation"]),
            spent=Cost(pairs, tokens),
            seconds=seconds,
            pairs_from_cache=values["pairs_from_cache"],
            refused=values["refused"],
            paid=Paid(*values["paid"]),
        )


def read_wordings(checkpoint: Checkpoint) -> tuple[JudgedWording, ...]:
    """The wordings of a checkpoint, the chosen one first: they tell which run it is of."""
    return tuple(JudgedWording.model_validate(one) for one in checkpoint.values["wordings"])
