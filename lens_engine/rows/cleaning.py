"""Cleaning of rows: afterwards each label has one spelling, and each text occurs once and has one label."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lens_engine.config import LabelOptions
from lens_engine.errors import InvalidVerbalizer
from lens_engine.rows.problem import Problem
from lens_engine.task.unicode_form import fold_text
from lens_engine.task.wording import show_label
from lens_engine.types import Example


@dataclass(slots=True)
class CleanRows:
    """The usable rows of one upload, and what was changed or left out."""

    by_text: dict[str, Example] = field(default_factory=dict)  #: by `fold_text` of the text, as uploaded
    uploaded: Counter[str] = field(default_factory=Counter)  #: number of rows of each label, unusable ones too
    first: dict[str, Example] = field(default_factory=dict)  #: first row of each label
    respelled: dict[str, Counter[str]] = field(default_factory=dict)  #: rows of each label by their other spelling
    duplicates: list[Example] = field(default_factory=list)  #: rows with the text of an earlier row
    conflicts: list[Example] = field(default_factory=list)  #: first row of each text that has more than one label

    @property
    def examples(self) -> list[Example]:
        return list(self.by_text.values())

    @property
    def counts(self) -> Counter[str]:
        """Number of usable rows of each label."""
        return Counter(example.label for example in self.by_text.values())


@dataclass(frozen=True, slots=True)
class CleanProblem:
    """The usable rows of a problem. No text of `dataset` is in `test`."""

    dataset: CleanRows
    test: CleanRows | None  #: None if test rows are held out of the dataset
    leaked: list[Example]  #: rows left out of the dataset, because the test rows have their text

    @property
    def uploads(self) -> dict[str, CleanRows]:
        """What was uploaded, by name."""
        return {"dataset": self.dataset} | ({} if self.test is None else {"test": self.test})


def clean_problem(problem: Problem, options: LabelOptions) -> CleanProblem:
    """Join the spellings of labels; remove repeated texts (the first stays), and every text with several labels.

    Raises:
        InvalidVerbalizer: two labels of the verbalizer are spellings of one label.
    """
    written = (example.label for example in (*problem.examples, *(problem.test or ())))
    label_of = join_spellings(problem.task.labels, written, options)
    dataset = clean_rows(problem.examples, label_of)
    if problem.test is None:
        return CleanProblem(dataset, None, [])
    test = clean_rows(problem.test, label_of)
    leaked = [dataset.by_text.pop(text) for text in list(dataset.by_text) if text in test.by_text]
    return CleanProblem(dataset, test, leaked)


def join_spellings(labels: Sequence[str], written: Iterable[str], options: LabelOptions) -> dict[str, str]:
    """The label under which each label of rows goes: that of the verbalizer, or else its first spelling.

    Args:
        labels: of the verbalizer.
        written: the labels of rows.

    Raises:
        InvalidVerbalizer: two labels of the verbalizer are spellings of one label.
    """
    if not options.join_spellings:
        return {label: label for label in written}
    label_of_form, label_of = dict[str, str](), dict[str, str]()
    for label in dict.fromkeys((*labels, *written)):
        label_of[label] = label_of_form.setdefault(fold_text(label), label)
    for label in labels:
        if label_of[label] != label:
            raise InvalidVerbalizer(
                f"the labels {show_label(label_of[label])} and {show_label(label)} of the verbalizer differ only in "
                "case, spaces or Unicode form, and are one label; remove one of the two, or set "
                "options.labels.join_spellings to false",
                field=f"verbalizer.{label}",
            )
    return label_of


def clean_rows(examples: Sequence[Example], label_of: Mapping[str, str]) -> CleanRows:
    """The usable rows of one upload.

    Args:
        label_of: the label under which each label of rows goes.
    """
    rows, torn, repeated = CleanRows(), set[str](), list[tuple[str, Example]]()
    for example in examples:
        label = label_of[example.label]
        if label != example.label:
            rows.respelled.setdefault(label, Counter())[example.label] += 1
            example = replace(example, label=label)
        rows.uploaded[label] += 1
        rows.first.setdefault(label, example)
        text = fold_text(example.text)
        if text not in rows.by_text:
            rows.by_text[text] = example
        elif rows.by_text[text].label != label:
            torn.add(text)
        else:
            repeated.append((text, example))
    rows.duplicates += [example for text, example in repeated if text not in torn]
    rows.conflicts += [rows.by_text.pop(text) for text in list(rows.by_text) if text in torn]
    return rows
