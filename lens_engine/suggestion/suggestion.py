"""The value object of a suggestion."""

from dataclasses import dataclass

from lens_engine.config import LabelOptions, PresetName
from lens_engine.metering.estimate import PresetPlan
from lens_engine.reading.choice import ColumnChoice
from lens_engine.rows.problem import Problem
from lens_engine.scoring.spending import Paid
from lens_engine.show.verdict import advise_by_words
from lens_engine.task.language import Language
from lens_engine.task.record import TaskRecord
from lens_engine.task.wording import show_count, show_label


@dataclass(frozen=True, slots=True)
class LabelCount:
    """A label as it is written in the file."""

    label: str
    rows: int
    read_as: str  #: the same label, or the more frequent spelling that it goes under
    is_rare: bool = False  #: fewer than two rows; the suggestion drops the label


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What can be said of a dataset before a selection. No test row was looked at to choose anything."""

    problem: Problem  #: in the wordings that the suggested selection chooses among
    columns: ColumnChoice | None  #: None for rows that are not read from a file
    num_rows: int
    labels: tuple[LabelCount, ...]  #: most frequent first
    templates: tuple[str, ...]  #: the default first
    instructions: tuple[str, ...]  #: to try, beside none, which is the default
    label_options: LabelOptions  #: options of the selection: whether rare labels are left out
    plans: tuple[PresetPlan, ...]
    words_accuracy: float | None  #: cross-validated accuracy of a bag of words; None if the rows do not suffice
    words_rows: int | None  #: number of labelled rows that it was judged on; None for all
    largest_class: float | None  #: share of the largest class among the same rows
    language: Language | None
    warnings: tuple[str, ...]  #: of the reading of the file
    num_unlabelled: int = 0  #: rows with a text and no label, which are kept aside
    sample: Paid | None = None  #: what the measuring of the pace took at a server
    asked: TaskRecord | None = None  #: the task as the model is asked; None without a model

    @property
    def num_labels(self) -> int:
        """Number of labels that the selection takes: of several spellings one, and none that is rare."""
        return len({one.read_as for one in self.labels if not one.is_rare})

    @property
    def preset(self) -> PresetName | None:
        """The first preset that can be used; None if none can."""
        return next((plan.preset for plan in self.plans if plan.refusal is None), None)

    @property
    def advice(self) -> str | None:
        """What a bag of words reaches beside the largest class; None if the rows do not suffice."""
        if self.words_accuracy is None:
            return None
        rows = "all labelled rows" if self.words_rows is None else f"{self.words_rows:,} of the labelled rows"
        return advise_by_words(self.words_accuracy, self.largest_class, rows, self.words_rows or self.num_rows)

    def __repr__(self) -> str:
        where = ""
        if self.columns is not None:
            text, label = (show_label(column.name) for column in (self.columns.text, self.columns.label) if column)
            where = f", texts in column {text}, labels in column {label}"
        presets = ", ".join(plan.preset for plan in self.plans if plan.refusal is None) or "none"
        return (
            f"Suggestion({show_count(self.num_rows, 'row')}{where}, "
            f"{show_count(self.num_labels, 'label')}, presets that can run: {presets})"
        )
