"""Reads the labels of rows: compares them with the labels of the verbalizer, and names all mismatches at once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lens_engine.config import LabelOptions
from lens_engine.errors import ClassTooSmall, InvalidDataset, InvalidInput, InvalidVerbalizer
from lens_engine.rows.problem import Problem
from lens_engine.task.label_forms import advise_options, compare_labels, find_likeness, fold_labels, normal_form
from lens_engine.task.wording import show_count, show_label
from lens_engine.types import Example

_MAX_LISTED = 10


@dataclass(frozen=True, slots=True)
class ReadLabels:
    """A problem whose rows have labels of the verbalizer where `options` allow it, and what was changed."""

    problem: Problem
    warnings: tuple[str, ...]


def read_labels(problem: Problem, options: LabelOptions) -> ReadLabels:
    """Give each row the label of the verbalizer that equals its own label under `labels.strip` and `labels.casefold`.

    A row whose label is in the verbalizer as it stands is not changed, nor is a row whose label equals none.

    Raises:
        InvalidVerbalizer: two labels of the verbalizer are equal under the options.
    """
    labels = problem.task.labels
    if not options.strip and not options.casefold:
        return ReadLabels(problem, tuple(_warn_of_lookalikes(labels)))
    label_of = _normal_forms(labels, options)
    examples, changed = _read(problem.examples, label_of, options)
    warnings = [_describe_read(label, found, "row") for label, found in changed.items()]
    test = problem.test
    if test is not None:
        test, changed = _read(test, label_of, options)
        warnings += [_describe_read(label, found, "test row") for label, found in changed.items()]
    warnings += _warn_of_lookalikes(labels)
    return ReadLabels(replace(problem, examples=examples, test=test), tuple(warnings))


def find_unknown_labels(problem: Problem, options: LabelOptions) -> list[InvalidInput]:
    """The labels of rows that have no label word: what can be said of a file of which some rows could not be read."""
    problem = read_labels(problem, options).problem
    lenient = options.model_copy(update={"rare": "drop"})
    found = find_mismatches(problem.task.labels, problem.examples, "dataset", lenient)
    return found + find_mismatches(problem.task.labels, problem.test or (), "test", lenient)


def find_mismatches(
    labels: Sequence[str], examples: Sequence[Example], field: str, options: LabelOptions
) -> list[InvalidInput]:
    """Find rows without a label, labels of examples without a label word, then label words without an example.

    With `labels.rare` "drop", a label word without an example is no mismatch.
    """
    known, by_label = fold_labels(labels), dict[str, list[Example]]()
    wanted = set(labels)
    for example in examples:
        by_label.setdefault(example.label, []).append(example)
    unknown = {label: rows for label, rows in by_label.items() if label not in wanted}
    found: list[InvalidInput] = []
    for label, rows in list(unknown.items())[:_MAX_LISTED]:
        found.append(_without_word(label, rows, field, known, options))
    if options.rare == "drop":
        return found
    meant = fold_labels(unknown)  # a label of rows that looks like it is the fault, not the missing example
    missing = [label for label in labels if label not in by_label and find_likeness(label, meant) is None]
    return found + [_without_example(label, field) for label in missing[:_MAX_LISTED]]


def _read(
    examples: Sequence[Example], label_of: dict[str, str], options: LabelOptions
) -> tuple[Sequence[Example], dict[str, Counter[str]]]:
    """The examples with their new labels, and the number of rows with each old label by their new label."""
    known, forms = set(label_of.values()), dict[str, str]()
    changed: dict[str, Counter[str]] = {}
    read = list[Example]()
    for example in examples:
        label = example.label
        if label not in known:
            if label not in forms:
                forms[label] = label_of.get(_normal(label, options), label)
            if forms[label] != label:
                changed.setdefault(forms[label], Counter())[label] += 1
                example = replace(example, label=forms[label])
        read.append(example)
    return read, changed


def _normal_forms(labels: Sequence[str], options: LabelOptions) -> dict[str, str]:
    """The label of each normal form."""
    label_of: dict[str, str] = {}
    for label in labels:
        form = _normal(label, options)
        if form in label_of:
            names = [f"options.labels.{name}" for name in ("strip", "casefold") if getattr(options, name)]
            raise InvalidVerbalizer(
                f"labels {show_label(label_of[form])} and {show_label(label)} of the verbalizer are one label under "
                f"{' and '.join(names)}; remove one of the two",
                field=f"verbalizer.{label}",
            )
        label_of[form] = label
    return label_of


def _normal(label: str, options: LabelOptions) -> str:
    return normal_form(label, strip=options.strip, casefold=options.casefold)


def _describe_read(label: str, found: Counter[str], noun: str) -> str:
    written = [f"{show_label(old)} ({number:,})" for old, number in found.most_common(_MAX_LISTED)]
    if len(found) > _MAX_LISTED:
        written.append("…")
    return f"{show_count(found.total(), noun, 'has')} a label read as {show_label(label)}: {', '.join(written)}"


def _warn_of_lookalikes(labels: Sequence[str]) -> list[str]:
    """A warning for each pair of labels that have different label words, and look alike."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(normal_form(label, strip=True, casefold=True), []).append(label)
    found = list[str]()
    for one, other in (pair for group in groups.values() for pair in pairwise(group)):
        likeness = compare_labels(other, one)
        if likeness is not None:
            found.append(
                f"the labels {show_label(one)} and {show_label(other)} differ only in {likeness.difference}, and are "
                f"kept apart; to make them one, remove one from the verbalizer and {advise_options(likeness.options)}"
            )
    return found[:_MAX_LISTED]


def _without_word(
    label: str, rows: Sequence[Example], field: str, known: dict[str, str], options: LabelOptions
) -> InvalidInput:
    noun = "test row" if field.startswith("test") else "row"
    count = show_count(len(rows), noun, "has")
    line = "" if rows[0].line is None else f", line {rows[0].line}"
    place = f"{'first ' if len(rows) > 1 else ''}row {rows[0].row}{line}"
    likeness = find_likeness(label, known)
    if not label.strip():
        message = f"{count} no label ({place}); give each row a label, or leave the row out"
    elif likeness is None:
        message = (
            f"{count} the label {show_label(label)} ({place}), which has no label word; add the label to the verbalizer"
        )
    else:
        needed = [name for name in likeness.options if not getattr(options, name)]
        message = (
            f"{count} the label {show_label(label)} ({place}), which differs from {show_label(likeness.label)} only in "
            f"{likeness.difference}; correct the rows, or {advise_options(needed)}"
        )
    return InvalidDataset(message, field=f"{field}.label", row=rows[0].row)


def _without_example(label: str, field: str) -> InvalidInput:
    if field.startswith("test"):  # the check of the dataset reports a label that has no example at all
        return ClassTooSmall(
            f"label {show_label(label)} has no example in the {field} rows; add test rows with this label, send no "
            'test rows to hold out a share of the dataset, or set options.labels.rare to "drop" to leave the label out',
            field=f"{field}.label",
        )
    return InvalidVerbalizer(
        f"label {show_label(label)} has a label word but no example in the {field} rows; "
        "add examples or remove the label from the verbalizer",
        field=f"verbalizer.{label}",
    )
