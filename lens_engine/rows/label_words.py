"""Checks that labels and label words match, and names all mismatches at once."""

from collections.abc import Sequence

from lens_engine.errors import ClassTooSmall, InvalidInput, InvalidVerbalizer
from lens_engine.task.template import missing_label_word, show_label
from lens_engine.types import Example

_MAX_LISTED = 10


def find_mismatches(labels: Sequence[str], examples: Sequence[Example], field: str) -> list[InvalidInput]:
    """Find labels of examples without a label word, then label words without an example."""
    first_rows: dict[str, int] = {}
    for example in examples:
        first_rows.setdefault(example.label, example.row)
    without_word = [(label, row) for label, row in first_rows.items() if label not in set(labels)]
    without_example = [label for label in labels if label not in first_rows]
    found: list[InvalidInput] = [missing_label_word(label, row, field) for label, row in without_word[:_MAX_LISTED]]
    return found + [_without_example(label, field) for label in without_example[:_MAX_LISTED]]


def _without_example(label: str, field: str) -> InvalidInput:
    if field.startswith("test"):  # the check of the dataset reports a label that has no example at all
        return ClassTooSmall(
            f"label {show_label(label)} has no example in the {field} rows; add test rows with this label, or send no "
            "test rows to hold out a share of the dataset",
            field=f"{field}.label",
        )
    return InvalidVerbalizer(
        f"label {show_label(label)} has a label word but no example in the {field} rows; "
        "add examples or remove the label from the verbalizer",
        field=f"verbalizer.{label}",
    )


def check_labels(labels: Sequence[str], examples: Sequence[Example], field: str) -> None:
    """Refuse labels and label words that do not match.

    Raises:
        InvalidDataset: a row's label has no label word; names the first such row.
        InvalidVerbalizer, ClassTooSmall: a label has no example in the dataset (or in the test rows); names the
            first such label.
    """
    for mismatch in find_mismatches(labels, examples, field):
        raise mismatch
