"""An evaluation: support examples or a classifier, asked as production asks, and measured on labelled rows."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.answers import Answers, join_labels, leave_out
from lens_engine.evaluation.batches import AnswerStore, BatchPredictor, RowListener, batches_of
from lens_engine.evaluation.measuring import measure, measure_orders
from lens_engine.evaluation.subject import (
    PromptSubject,
    Subject,
    classifier_of,
    make_classifier,
)
from lens_engine.reading import TextRow
from lens_engine.result.evaluation import EvaluationResult
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import Example


class Measured(NamedTuple):
    """What an evaluation found."""

    result: EvaluationResult
    num_cut: int  #: number of rows whose text was cut


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is judged, how it is asked, and the rows that judge it."""

    subject: Subject
    examples: tuple[Example, ...]
    is_other_model: bool = False  #: whether another model is asked than the one of the selection
    known: Mapping[int, str] = field(default_factory=dict)  #: what the selection answered, by row number
    orders: int = 0  #: number of other orders of fixed demonstrations that are judged too
    seed: int = 0  #: of these orders

    @property
    def classifier(self) -> Classifier:
        """What is asked."""
        return classifier_of(self.subject)

    @property
    def reordered(self) -> list[PromptSubject]:
        """The subject in other orders: as many as are judged, or as there are."""
        return self.subject.reorder(self.orders, self.seed) if isinstance(self.subject, PromptSubject) else []

    def check(self) -> None:
        """Find out before a model is loaded whether these rows can be judged.

        Raises:
            InvalidDataset: a row has a label that the classifier does not know.
        """
        join_labels(self.classifier.labels, leave_out(self.classifier.task, self.examples)[0])

    def run(
        self,
        scorer: LabelScorer | None,
        listener: RowListener,
        store: AnswerStore | None = None,
        guard: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> Measured:
        """Ask for every row, then for the same rows in other orders, and measure.

        Args:
            scorer: the model; None for a bag of words.
            store: keeps the answers. Those in other orders are not kept: a run that is repeated asks them again.
            guard: as `BatchPredictor` takes it.

        Raises:
            Stopped: as `BatchPredictor.predict`.
            ModelMismatch, InvalidVerbalizer: as `make_classifier`.
            InvalidDataset: no row has an answer.
            ModelError: the model could not score the rows.
        """
        subject, (examples, notes) = self.subject, leave_out(self.classifier.task, self.examples)
        asked = [make_classifier(one, scorer, is_other_model=self.is_other_model) for one in (subject, *self.reordered)]
        read = batches_of([TextRow(example.text) for example in examples])
        predictor = BatchPredictor(scorer, listener, len(examples) * len(asked), guard)
        answers = list[Answers]()
        for classifier in asked:
            answers.append(Answers(classifier.labels, examples))
            for batch in predictor.predict(classifier, read, len(examples), None if answers[1:] else store):
                answers[-1].extend(batch)
        own, *others = answers
        result = measure(
            asked[0],
            examples,
            own,
            known=self.known,
            order=measure_orders(others) if others else None,
            notes=(*(subject.notes if isinstance(subject, PromptSubject) else ()), *notes),
        )
        return Measured(result, own.num_cut)
