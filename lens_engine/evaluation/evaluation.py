"""An evaluation: support examples or a classifier, asked as production asks, and measured on labelled rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lens_engine.classifier.classifier import Classifier, ModelRecord
from lens_engine.classifier.quality import measure_with_intervals
from lens_engine.config import Use
from lens_engine.errors import ModelMismatch
from lens_engine.evaluation.batches import Answers, RowListener, join_labels, leave_out, predict_batches
from lens_engine.files import TextRow
from lens_engine.model.base import LabelScorer
from lens_engine.prompt.pool import PromptForm
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.wording import show_count
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.result.parts import EvaluationResult
from lens_engine.result.selection_result import classifier_of_prompt
from lens_engine.rows.problem import digest_examples
from lens_engine.show.verdict import warn_of_largest_class
from lens_engine.types import Example, Record


def measure(
    classifier: Classifier, examples: Sequence[Example], answers: Answers, *, notes: Sequence[str] = ()
) -> EvaluationResult:
    """The figures of the answers to these examples, with notes on what is judged.

    Raises:
        InvalidDataset: no row has an answer.
    """
    figures = answers.figures()
    form = PromptForm() if classifier.retrieval is None else classifier.retrieval.form
    unanswered, quality = len(examples) - len(figures.gold), measure_with_intervals(figures)
    too_long = [f"{show_count(unanswered, 'row', 'was')} too long and not judged"] if unanswered else []
    return EvaluationResult(
        quality=quality,
        unanswered=unanswered,
        labels=classifier.labels,
        confusion=tuple(tuple(row) for row in answers.confusion().tolist()),
        prompt_form=form if classifier.prompts else None,
        prompts=len(classifier.prompts),
        model=classifier.model,
        dataset_sha256=digest_examples(examples),
        warnings=(*notes, *too_long, *warn_of_largest_class([quality])),
    )


OPTIMISTIC = "these are the rows of the selection, which chose or fitted what is judged; the figures are optimistic"
"""What is said of an evaluation on the dataset of the selection."""


class PromptSubject(Record):
    """Support examples, and their prompt, of any form, as a classifier."""

    answer: SupportExamples
    asked: Classifier
    in_place_of: PromptForm | None = None  #: form of the selection's prompt, where its fixed form is judged instead

    @classmethod
    def of_result(cls, result: SelectionResult, use: Use | None = None, *, is_fixed: bool = False) -> "PromptSubject":
        """The prompt of a result for a use, or its fixed form.

        Raises:
            InvalidConfig: the result has not the pool of its prompt.
        """
        answer = result.answer_for(use)
        if not is_fixed or answer.fixed is None:
            return cls(answer=answer, asked=classifier_of_prompt(result, use))
        asked = classifier_of_prompt(result, use, is_fixed=True)
        return cls(answer=answer.fixed, asked=asked, in_place_of=answer.form)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was judged in place of the selection's prompt."""
        if self.in_place_of is None:
            return ()
        return (f"the prompt of the selection has the form {self.in_place_of.name}; its fixed form is judged here",)


Subject = PromptSubject | Classifier


def classifier_of(subject: Subject) -> Classifier:
    """What is asked."""
    return subject.asked if isinstance(subject, PromptSubject) else subject


def make_classifier(subject: Subject, scorer: LabelScorer | None, *, is_other_model: bool = False) -> Classifier:
    """The classifier that an evaluation asks, perhaps of another model than that of the selection.

    Raises:
        ModelMismatch: the model is another than it must be.
        InvalidVerbalizer: another model does not tell two label words apart.
    """
    classifier = classifier_of(subject)
    if is_other_model and classifier.head.kind in ("states", "states_and_words"):
        raise ModelMismatch(
            f"the classifier reads the model from within, and its coefficients are of "
            f"{'no model' if classifier.model is None else classifier.model.model}; another model needs others",
            field="model",
        )
    if classifier.model is not None and scorer is not None and is_other_model:
        classifier = _ask_other_model(classifier, scorer)
    classifier.check_model(scorer)
    return classifier


def _ask_other_model(classifier: Classifier, scorer: LabelScorer) -> Classifier:
    """The classifier as this model is asked, in whose tokens other label words may begin each other."""
    task = classifier.task
    if task.chat is None and not scorer.takes_turns:
        task = TaskRecord.of(scorer.fit_task(task.task()))
    return classifier.model_copy(update={"model": ModelRecord.of(scorer.identity), "task": task})


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

    def run(self, scorer: LabelScorer | None, listener: RowListener) -> Measured:
        """Ask for every row, and measure.

        Args:
            scorer: the model; None for a bag of words.

        Raises:
            Stopped: as `predict_batches`.
            ModelMismatch, InvalidVerbalizer: as `make_classifier`.
            InvalidDataset: no row has an answer.
            ModelError: the model could not score the rows.
        """
        subject, (examples, notes) = self.subject, leave_out(self.classifier.task, self.examples)
        classifier = make_classifier(subject, scorer, is_other_model=self.is_other_model)
        answers = Answers(classifier.labels, examples)
        for batch in predict_batches(classifier, [TextRow(one.text) for one in examples], scorer, listener):
            answers.extend(batch)
        notes = (*(subject.notes if isinstance(subject, PromptSubject) else ()), *notes)
        return Measured(measure(classifier, examples, answers, notes=notes), answers.num_cut)
