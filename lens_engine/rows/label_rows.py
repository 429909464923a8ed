"""Whether each label has enough rows: what is refused, and which labels are left out as too rare."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lens_engine.config import LabelOptions
from lens_engine.errors import ClassTooSmall, InvalidDataset, InvalidInput, InvalidVerbalizer, join_faults
from lens_engine.rows.cleaning import CleanProblem, CleanRows
from lens_engine.task.template import Task
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.task.wording import show_count, show_label

LEAST_OF_LABEL = 2
"""Fewest rows of a label: one that is shown, and one that judges."""

_MAX_LISTED = 10
_LEAST_LABELS = 2


@dataclass(frozen=True, slots=True)
class ServedTask:
    """A task whose labels all have enough rows."""

    task: Task
    dropped: tuple[str, ...]  #: labels left out as too rare


def serve_labels(task: Task, rows: CleanProblem, options: LabelOptions) -> ServedTask:
    """The task with the labels that have enough rows. With `labels.rare` "drop" the others are left out, with or
    without a label word.

    Raises:
        InvalidDataset: rows have a label without a label word.
        InvalidVerbalizer: a label has a label word and no row.
        ClassTooSmall: labels have too few rows, or fewer than two labels would be left without those.
    """
    counts = rows.dataset.counts
    rare = [label for label in task.labels if counts[label] < LEAST_OF_LABEL]
    dropped = list[str]()
    if options.rare == "drop":
        written = dict.fromkeys(label for upload in rows.uploads.values() for label in upload.first if label.strip())
        unknown = [label for label in written if label not in task.labels]
        dropped = [*(label for label in unknown if counts[label] < LEAST_OF_LABEL), *rare]
    kept = [label for label in task.labels if label not in dropped]
    faults = find_unknown_labels([*task.labels, *dropped], rows)
    if options.rare == "reject" or len(kept) < _LEAST_LABELS:
        advice = _advise(len(kept) - len(rare) * (options.rare == "reject"), len(task.labels), options)
        faults += [_too_rare(label, rows.dataset, advice) for label in rare]
    if faults:
        raise join_faults(faults)
    if len(kept) < len(task.labels):
        task = replace(task, verbalizer=Verbalizer({label: task.verbalizer.words[label] for label in kept}))
    return ServedTask(task, tuple(dropped))


def find_unknown_labels(labels: Sequence[str], rows: CleanProblem) -> list[InvalidInput]:
    """A fault for each of the first labels of rows that are not among `labels`."""
    return [
        _without_word(label, name, upload)
        for name, upload in rows.uploads.items()
        for label in [label for label in upload.first if label not in labels][:_MAX_LISTED]
    ]


def _without_word(label: str, name: str, upload: CleanRows) -> InvalidInput:
    number, first = upload.uploaded[label], upload.first[label]
    noun = "row" if name == "dataset" else "test row"
    place = f"{'the first: ' if number > 1 else ''}{first.place}"
    if label.strip():
        message = f"the label {show_label(label)} ({place}), which has no label word; add the label to the verbalizer"
    else:
        message = f"no label ({place}); give each row a label, or leave the row out"
    return InvalidDataset(f"{show_count(number, noun, 'has')} {message}", field=f"{name}.label", row=first.row)


def _advise(kept: int, labels: int, options: LabelOptions) -> str:
    """What helps beside more rows."""
    if options.rare == "drop":
        return "; fewer than two labels would be left without the rare ones"
    if kept < _LEAST_LABELS:
        return ""
    return f', or set options.labels.rare to "drop" to leave out {labels - kept} of {labels} labels'


def _too_rare(label: str, upload: CleanRows, advice: str) -> InvalidInput:
    uploaded, usable = upload.uploaded[label], upload.counts[label]
    if not uploaded:
        return InvalidVerbalizer(
            f"label {show_label(label)} has a label word but no row; the minimum is {LEAST_OF_LABEL} rows per label; "
            f"add rows, or remove the label from the verbalizer{advice}",
            field=f"verbalizer.{label}",
        )
    rows = show_count(uploaded, "row")
    if usable < uploaded:
        rows += f", {usable} of them with a text of their own and with one label"
    return ClassTooSmall(
        f"label {show_label(label)} has {rows}; the minimum is {LEAST_OF_LABEL} rows per label: one to show and one to "
        f"judge; add rows{advice}",
        field="dataset.label",
    )
