"""An evaluation: support examples or a classifier, asked as production asks, and measured on labelled rows."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.answers import Answers, join_labels, leave_out
from lens_engine.evaluation.batches import AnswerStore, BatchPredictor, RowListener, batches_of
from lens_engine.evaluation.measuring import measure
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

    @property
    def classifier(self) -> Classifier:
        """What is asked."""
        return classifier_of(self.subject)

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
        """Ask for every row, and measure.

        Args:
            scorer: the model; None for a bag of words.
            store: keeps the answers.
            guard: as `BatchPredictor` takes it.

        Raises:
            Stopped: as `BatchPredictor.predict`.
            ModelMismatch, InvalidVerbalizer: as `make_classifier`.
            InvalidDataset: no row has an answer.
            ModelError: the model could not score the rows.
        """
        subject, (examples, notes) = self.subject, leave_out(self.classifier.task, self.examples)
        classifier = make_classifier(subject, scorer, is_other_model=self.is_other_model)
        read = batches_of([TextRow(example.text) for example in examples])
        answers = Answers(classifier.labels, examples)
        for batch in BatchPredictor(scorer, listener, len(examples), guard).predict(
            classifier, read, len(examples), store
        ):
            answers.extend(batch)
        notes = (*(subject.notes if isinstance(subject, PromptSubject) else ()), *notes)
        return Measured(measure(classifier, examples, answers, known=self.known, notes=notes), answers.num_cut)
