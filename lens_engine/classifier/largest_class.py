"""The largest class: the least that an accuracy must exceed, because always answering its label is right so often."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from lens_engine.classifier.macro_f1 import measure_macro_f1
from lens_engine.config import Objective
from lens_engine.types import IndexArray

if TYPE_CHECKING:
    from lens_engine.classifier.quality import Accuracy  # has this share

ALWAYS_THE_LARGEST = "always the largest class"


def share_of_largest_class(gold: IndexArray) -> float:
    """Share of the rows that have the most frequent label.

    Args:
        gold: `[rows]`, index of each row's label.
    """
    return float(np.bincount(gold).max() / len(gold))


def macro_f1_of_largest_class(gold: IndexArray) -> float:
    """Macro-F1 of always answering the most frequent label."""
    return measure_macro_f1(np.full(len(gold), np.bincount(gold).argmax()), gold)


def describe_figure(accuracy: float, macro_f1: float | None, objective: Objective) -> str:
    """An accuracy; or macro-F1, with the accuracy beside it."""
    if objective == "accuracy" or macro_f1 is None:
        return f"{accuracy:.3f}"
    return f"a macro-F1 of {macro_f1:.3f} (accuracy {accuracy:.3f})"


def describe_largest_class(share: float, macro_f1: float | None = None, objective: Objective = "accuracy") -> str:
    """How often the label of the largest class is right."""
    return f"{ALWAYS_THE_LARGEST} has {describe_figure(share, macro_f1, objective)}"


def say_largest_class(figure: "Accuracy | None", objective: Objective = "accuracy") -> list[str]:
    """How often the label of the largest class is right on the rows of a figure; nothing if it is not known."""
    if figure is None or figure.largest_class is None:
        return []
    return [describe_largest_class(figure.largest_class, figure.largest_class_macro_f1, objective)]


def advise_by_words(accuracy: float, share: float | None, rows: str) -> str:
    """What a bag of words reaches before a run, and what follows from that.

    Args:
        accuracy: cross-validated.
        share: of the largest class on the same rows; None if it is not known.
        rows: names the rows.
    """
    found = f"A bag of words on {rows} has an accuracy of {accuracy:.3f} by cross-validation"
    if share is None:
        return f"{found}."
    if accuracy <= share:
        return (
            f"{found}, and {describe_largest_class(share)}: the words of these texts do not tell their labels. Look "
            "whether a reader could tell them, and whether this is the column of the labels, before you spend a run."
        )
    return (
        f"{found}, in a second and without a language model; {describe_largest_class(share)}. Lens is worth a try "
        "where that is not enough, and where a label hangs on what a text means, not on single words."
    )


def warn_of_largest_class(tested: Iterable["Accuracy | None"], objective: Objective = "accuracy") -> list[str]:
    """A warning if nothing that was tested is better than always the label of the largest class.

    Args:
        tested: on the same rows; None for what was not tested.
    """
    found = [one for one in tested if one is not None]
    if not found or any(one.beats_largest_class(objective) for one in found):
        return []
    (largest,) = say_largest_class(found[0], objective)
    return [
        f"nothing here beats the largest class: {largest} on the same rows; look whether a reader could tell the "
        "labels by the texts, and whether labels are wrong"
    ]
