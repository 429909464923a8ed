"""An evaluation on this machine: labelled rows in, batch after batch asked, figures out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from rich.console import Console

from lens_cli.asked_model import describe_opening
from lens_cli.evaluate.judged import Judged, JudgedRows
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal, RefusedInput
from lens_cli.select.sources import Sources
from lens_cli.signals import StopRequest
from lens_cli.views.notes import show_note
from lens_cli.views.progress import RowBar, row_bar
from lens_engine.classifier.classifier import Classifier
from lens_engine.errors import Faults
from lens_engine.exports import FormatName
from lens_engine.predicting.answers import Answers, join_labels
from lens_engine.predicting.evaluation import EvaluationResult, measure, measure_orders
from lens_engine.predicting.rows import BATCH_ROWS, predict_rows
from lens_engine.predicting.subject import Changes, PromptSubject, check_changes, make_classifier
from lens_engine.reading import TextRow
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.interruption import interrupted_by
from lens_engine.task.wording import show_count
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Wishes:
    """How production asks, where that differs from how the selection asked."""

    form: str | None = None  #: format of exports
    num_prompts: int | None = None
    model: str | None = None  #: reference of a model; None for the one of the selection
    dtype: str | None = None
    orders: int = 0  #: number of other orders

    def changes(self, *, is_other_model: bool = False) -> Changes:
        return Changes(cast(FormatName | None, self.form), self.num_prompts, is_other_model=is_other_model)


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """What is judged, and the rows that judge it, both checked."""

    judged: Judged
    rows: JudgedRows
    wishes: Wishes

    @classmethod
    def prepare(cls, judged: Judged, sources: Sources, wishes: Wishes) -> "EvaluationRun":
        """Read the rows and refuse what cannot work, before any model is loaded.

        Raises:
            Refusal, InvalidInput: the rows are bad, or what is judged cannot be asked in this way.
            OSError: the file cannot be read.
        """
        if wishes.orders and not isinstance(judged.subject, PromptSubject):
            raise RefusedInput("a classifier is not judged in other orders; leave --orders out", "where: --orders")
        check_changes(judged.subject, wishes.changes())
        faults = Faults()
        read = sources.read(faults)
        faults.refuse()
        rows = judged.choose_rows(read.dataset)
        join_labels(judged.asked.labels, rows.examples)  # refuses
        return cls(judged, replace(rows, notes=(*read.notes, *rows.notes)), wishes)

    def execute(self, open_scorer: Callable[[str, str], LabelScorer], console: Console) -> EvaluationResult:
        """Load the model, ask for every row with a live bar, and measure.

        Args:
            open_scorer: loads the model of this name in this precision.

        Raises:
            Refusal: the run was stopped.
            LensError: the model cannot be loaded, is another one, or fails.
            KeyboardInterrupt: at the second Ctrl-C.
        """
        for note in self.rows.notes:
            show_note(note, console)
        request, subject, examples = StopRequest(), self.judged.subject, self.rows.examples
        with row_bar(console) as bar, request.listening(bar.begin_to_stop):
            scorer = self._load(open_scorer, bar)
            changes = self.wishes.changes(is_other_model=self._is_other(scorer))
            classifier = make_classifier(subject, changes, scorer)
            others = [make_classifier(one, changes, scorer) for one in self._reorder(console)]
            asking = _Asking(scorer, examples, bar, request)
            answers, *reordered = asking.predict([classifier, *others])
        if changes.is_other_model and scorer is not None:
            show_note(f"{scorer.identity.model} is another model than that of the selection", console)
        if answers.num_cut:
            show_note(f"{show_count(answers.num_cut, 'text', 'was')} too long and cut, as in the report", console)
        notes = subject.notes if isinstance(subject, PromptSubject) else ()
        order = measure_orders(reordered) if reordered else None
        return measure(classifier, changes, examples, answers, known=self.rows.known, order=order, notes=notes)

    def _load(self, open_scorer: Callable[[str, str], LabelScorer], bar: RowBar) -> LabelScorer | None:
        own = self.judged.asked.model
        if own is None:
            return None
        name = self.wishes.model or own.model
        bar.wait(describe_opening(name))
        return open_scorer(name, self.wishes.dtype or (own.dtype if name == own.model else "auto"))

    def _is_other(self, scorer: LabelScorer | None) -> bool:
        """Whether another model was named than the one of the selection, whatever the names."""
        own = self.judged.asked.model
        return bool(self.wishes.model and own and scorer and scorer.identity.revision != own.revision)

    def _reorder(self, console: Console) -> list[PromptSubject]:
        subject, number = self.judged.subject, self.wishes.orders
        if not number or not isinstance(subject, PromptSubject):
            return []
        seed = 0 if self.judged.result is None else self.judged.result.provenance.seed
        found = subject.reorder(number, seed)
        if len(found) < number:
            show_note(f"the fixed demonstrations have {show_count(len(found), 'other order')}", console)
        return found


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks classifiers for all rows, and shows how far it is."""

    scorer: LabelScorer | None
    examples: Sequence[Example]
    bar: RowBar
    request: StopRequest

    def predict(self, classifiers: Sequence[Classifier]) -> list[Answers]:
        """The answers of each classifier, one for each row.

        Raises:
            Refusal: the user asked for a stop.
        """
        rows = [TextRow(example.text) for example in self.examples]
        self.bar.start(0, len(rows) * len(classifiers))
        found = list[Answers]()
        for classifier in classifiers:
            answers = Answers(classifier.labels, self.examples)
            for start in range(0, len(rows), BATCH_ROWS):
                self._hear()
                with interrupted_by(self._hear):
                    answers.extend(predict_rows(classifier, rows[start : start + BATCH_ROWS], self.scorer))
                self.bar.show(len(rows) * len(found) + len(answers))
            found.append(answers)
        return found

    def _hear(self) -> None:
        if self.request.is_made:
            raise Refusal("stopped; nothing is kept", exit_code=EXIT_INTERRUPTED)
