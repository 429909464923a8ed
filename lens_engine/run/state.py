"""The state of a run: everything that it has found so far, and its form in a checkpoint."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import Field

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.quality import Accuracy
from lens_engine.classifier.tested import ClassifierName, FrontierPoint
from lens_engine.judging.score import Score
from lens_engine.metering.cost import Cost
from lens_engine.methods.base import Method, PackedState
from lens_engine.methods.random import RandomTally
from lens_engine.result import RandomAndValidation, Spread
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import Permutation, Phase, Record, StopReason

S = TypeVar("S")


class Evaluation(Record):
    """The findings of the evaluation phase; `done` names the finished steps."""

    done: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  #: steps the budget did not cover
    chosen: Permutation | None = None  #: choice of the confirmation; None before it, or without one
    confirmation: Accuracy | None = None
    pooled_scores: tuple[Score, ...] = ()  #: of each finalist, on validation and confirmation rows together
    test: Accuracy | None = None
    classifiers: dict[ClassifierName, Classifier] = Field(default_factory=dict)
    """Every classifier that was tested."""
    correct: dict[ClassifierName, tuple[bool, ...]] = Field(default_factory=dict)
    """Which test rows each of them has right."""
    frontier: tuple[FrontierPoint, ...] = ()  #: of the ensemble
    is_fit_short: bool = False  #: whether the budget did not cover the ensemble's fit rows
    random: Spread | None = None
    random_and_validation: RandomAndValidation | None = None
    rival: RandomTally = RandomTally()  #: random-and-validation at equal budget, so far
    order: Spread | None = None

    def with_classifier(
        self, name: ClassifierName, classifier: Classifier, correct: tuple[bool, ...], **more: object
    ) -> "Evaluation":
        """The evaluation with one more tested classifier, and other fields that change."""
        return self.model_copy(
            update={
                "classifiers": {**self.classifiers, name: classifier},
                "correct": {**self.correct, name: correct},
                **more,
            }
        )

    def after(self, step: str, *, is_skipped: bool = False) -> "Evaluation":
        """The evaluation after a step, or without it if the budget did not cover it."""
        skipped = (*self.skipped, step) if is_skipped else self.skipped
        return self.model_copy(update={"done": (*self.done, step), "skipped": skipped})

    @property
    def num_confirmed(self) -> int:
        """Number of permutations judged on the confirmation rows."""
        return len(self.pooled_scores)


@dataclass(frozen=True)
class RunState(Generic[S]):
    """The state between two steps of a run."""

    method: S  #: the method's own state
    chosen: Permutation | None = None  #: the method's choice; None before the method has ended
    ended: StopReason | None = None  #: why the method ended
    evaluation: Evaluation = field(default_factory=Evaluation)
    spent: Cost = Cost()
    seconds: float = 0.0
    pairs_from_cache: int = 0

    def to_checkpoint(self, method: Method[S], fingerprint: str, dtype: str, phase: Phase, step: int) -> Checkpoint:
        packed = method.pack(self.method)
        values = {
            "method": dict(packed.values),
            "chosen": None if self.chosen is None else list(self.chosen),
            "ended": self.ended,
            "evaluation": self.evaluation.model_dump(mode="json"),
            "spent": [self.spent.pairs, self.spent.tokens, self.seconds],
            "pairs_from_cache": self.pairs_from_cache,
        }
        return Checkpoint(fingerprint, phase, step, dtype, values, dict(packed.arrays))

    @classmethod
    def from_checkpoint(cls, method: Method[S], checkpoint: Checkpoint) -> "RunState[S]":
        values: dict[str, Any] = checkpoint.values
        pairs, tokens, seconds = values["spent"]
        return cls(
            method=method.unpack(PackedState(values["method"], checkpoint.arrays)),
            chosen=None if values["chosen"] is None else tuple(values["chosen"]),
            ended=None if values["ended"] is None else StopReason(values["ended"]),
            evaluation=Evaluation.model_validate(values["evaluation"]),
            spent=Cost(pairs, tokens),
            seconds=seconds,
            pairs_from_cache=values["pairs_from_cache"],
        )
