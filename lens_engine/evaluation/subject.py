"""What an evaluation judges: a classifier, or support examples, as they are or changed."""

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.prompt import ModelRecord
from lens_engine.config import Use
from lens_engine.errors import ModelMismatch
from lens_engine.result import SelectionResult, SupportExamples
from lens_engine.result.of_prompt import classifier_of_prompt
from lens_engine.retrieval.form import PromptForm
from lens_engine.scoring.asking import fit_task, takes_turns
from lens_engine.scoring.base import LabelScorer
from lens_engine.task.record import TaskRecord
from lens_engine.types import Record

OPTIMISTIC = "these are the rows of the selection, which chose or fitted what is judged; the figures are optimistic"
"""What is said of an evaluation on the dataset of the selection."""


class PromptSubject(Record):
    """Support examples, and their prompt, of any form, as a classifier."""

    answer: SupportExamples
    asked: Classifier
    in_place_of: PromptForm | None = None  #: form of the selection's prompt, where its fixed form is judged instead

    @classmethod
    def of_result(cls, result: SelectionResult, use: Use | None = None, *, is_fixed: bool = False) -> "PromptSubject":
        """The prompt of a result.

        Args:
            use: use for which the prompt is the best; None for that of the run.
            is_fixed: whether to take the prompt of fixed demonstrations, whatever form is the best.

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


def known_answers(result: SelectionResult, subject: Subject) -> dict[int, str]:
    """What the selection answered, by row number; nothing if it did not ask the subject."""
    answers = result.answers
    found = answers.classifier
    if isinstance(subject, PromptSubject):
        kept = answers.support_examples if subject.in_place_of is None else answers.fixed
        place = [one.use for one in result.support_examples].index(subject.answer.use)
        found = kept[place]
    if found is None:
        return {}
    labels = classifier_of(subject).labels
    return {row: labels[place] for row, place in zip(answers.rows, found, strict=True) if place is not None}


def make_classifier(subject: Subject, scorer: LabelScorer | None, *, is_other_model: bool = False) -> Classifier:
    """The classifier that an evaluation asks.

    Args:
        is_other_model: whether another model is asked than the one of the selection.

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
    if task.chat is None and not takes_turns(scorer):
        task = TaskRecord.of(fit_task(scorer, task.task()))
    return classifier.model_copy(update={"model": ModelRecord.of(scorer.identity), "task": task})
