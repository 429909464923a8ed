"""Spellings of labels: those that differ only in case, spaces or Unicode form are one label."""

from collections.abc import Iterable, Sequence

from lens_engine.config import LabelOptions
from lens_engine.errors import InvalidVerbalizer
from lens_engine.task.unicode_form import fold_label
from lens_engine.task.wording import show_label


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
        label_of[label] = label_of_form.setdefault(fold_label(label), label)
    for label in labels:
        if label_of[label] != label:
            raise InvalidVerbalizer(
                f"the labels {show_label(label_of[label])} and {show_label(label)} of the verbalizer differ only in "
                "case, spaces or Unicode form, and are one label; remove one of the two, or set "
                "options.labels.join_spellings to false",
                field=f"verbalizer.{label}",
            )
    return label_of
