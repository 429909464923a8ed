"""Macro-F1: the mean over the labels of F1, so that a rare label counts as much as a frequent one."""

import numpy as np

from lens_engine.config import Objective
from lens_engine.types import FloatArray, IndexArray


def measure_macro_f1(predictions: IndexArray, gold: IndexArray, labels: IndexArray | None = None) -> float:
    """F1, averaged over the labels that occur among the rows, as scikit-learn's `f1_score` with these `labels`.

    A label without a row is left out of the mean, whether it is predicted or not. scikit-learn takes a hundred times as
    long.

    Args:
        predictions, gold: `[rows]`, indices of labels.
        labels: to average over in place of those of the rows.
    """
    labels = np.unique(gold) if labels is None else labels
    size = int(max(labels.max(), predictions.max())) + 1
    hits = np.bincount(gold[predictions == gold], minlength=size)
    sums = np.bincount(gold, minlength=size) + np.bincount(predictions, minlength=size)
    return float((2 * hits[labels] / np.maximum(sums[labels], 1)).mean())


def value_rows(predictions: IndexArray, gold: IndexArray, objective: Objective) -> FloatArray:
    """`[rows]`, values whose mean is the figure, and the standard error of whose mean is that of the figure.

    For the accuracy they are the hits. Macro-F1 is no mean over rows, so its values are those of the jackknife: by how
    much each row moves it (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 11). The values of two
    answers to the same rows are paired.
    """
    if objective == "accuracy":
        return np.asarray(predictions == gold, dtype=np.float64)
    figure = measure_macro_f1(predictions, gold)
    if len(gold) < 2:
        return np.full(len(gold), figure)
    without = _leave_out_each(predictions, gold)
    return np.asarray(figure + (len(gold) - 1) * (without.mean() - without))


def standard_error(values: FloatArray) -> float:
    """Standard error of the mean of values; 0 for a single one."""
    return float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0


def compare_macro_f1(first: IndexArray, second: IndexArray, gold: IndexArray) -> dict[str, float]:
    """By how much the macro-F1 of the first answers exceeds that of the second ones, and the standard error of that."""
    differences = value_rows(first, gold, "macro_f1") - value_rows(second, gold, "macro_f1")
    return {"macro_f1": float(differences.mean()), "macro_f1_error": standard_error(differences)}


def _leave_out_each(predictions: IndexArray, gold: IndexArray) -> FloatArray:
    """`[rows]`, macro-F1 of all rows but one; a label whose only row is left out is no part of the mean."""
    size = int(max(gold.max(), predictions.max())) + 1
    rows, hits = np.bincount(gold, minlength=size), predictions == gold
    right, sums = np.bincount(gold[hits], minlength=size), rows + np.bincount(predictions, minlength=size)
    scores = np.where(rows > 0, 2 * right / np.maximum(sums, 1), 0.0)  # [labels]
    stays = rows[gold] > 1  # whether the label still has a row
    of_gold = np.where(stays, 2 * (right[gold] - hits) / np.maximum(sums[gold] - 1 - hits, 1), 0.0)
    of_other = np.where(rows[predictions] > 0, 2 * right[predictions] / np.maximum(sums[predictions] - 1, 1), 0.0)
    moved = of_gold - scores[gold] + np.where(hits, 0.0, of_other - scores[predictions])
    return np.asarray((scores.sum() + moved) / np.maximum((rows > 0).sum() - ~stays, 1))
