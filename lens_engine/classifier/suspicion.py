"""Rows whose label is probably wrong, by predictions of a classifier that has not seen them.

Northcutt, Jiang & Chuang, "Confident Learning: Estimating Uncertainty in Dataset Labels" (JAIR 2021): a row counts as
another label if the probability of that label is at least its mean probability over the rows that have it.
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from lens_engine.classifier.log_probs import list_blocks
from lens_engine.classifier.quality import gold_losses
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs, Record

MOST_SUSPICIOUS = 200
"""Largest number of rows that a result lists."""


class SuspiciousLabel(Record):
    """A row that the classifier contradicts with confidence."""

    row: int = Field(description="Number of the data row in the dataset, counted from 0.")
    label: str = Field(description="Label of the row.")
    likelier: str = Field(description="Label that the classifier finds likelier.")
    probability: float = Field(description="Probability of the row's label.")
    probability_of_likelier: float = Field(description="Probability of the likelier label.")


def find_suspicious(
    class_log_probs: FloatArray | LabelLogProbs, gold: IndexArray, rows: Sequence[int], labels: Sequence[str]
) -> tuple[SuspiciousLabel, ...]:
    """The most suspicious rows, at most `MOST_SUSPICIOUS`, the most suspicious first.

    They are ordered by the probability of the likelier label less that of their own.

    Args:
        class_log_probs: `[rows, labels]`, under heads that were fitted without the row.
        gold: `[rows]`, index of each row's label.
        rows: number of each row in the dataset.
    """
    own = np.exp(-gold_losses(class_log_probs, gold)).astype(np.float64)
    thresholds = np.full(len(labels), np.inf)  # nothing counts as a label that no row has
    for index in np.unique(gold):
        thresholds[index] = own[gold == index].mean()
    found, highest = np.empty(len(gold), dtype=np.intp), np.empty(len(gold))
    for block in list_blocks(len(gold)):
        probabilities = np.exp(class_log_probs[block])
        confident = np.where(probabilities >= thresholds, probabilities, -1.0)
        found[block], highest[block] = confident.argmax(axis=1), confident.max(axis=1)
    gaps = highest - own
    is_suspicious = (highest > 0.0) & (found != gold) & (gaps > 0.0)
    ranked: list[int] = np.flatnonzero(is_suspicious).tolist()
    ranked.sort(key=lambda place: (-gaps[place], rows[place]))
    return tuple(
        SuspiciousLabel(
            row=rows[place],
            label=labels[gold[place]],
            likelier=labels[found[place]],
            probability=float(own[place]),
            probability_of_likelier=float(highest[place]),
        )
        for place in ranked[:MOST_SUSPICIOUS]
    )
