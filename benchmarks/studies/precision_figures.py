"""The effect of rounding on scores: comparisons of two sets of label log-probabilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from lens_engine.types import FloatArray, IndexArray, LabelLogProbs


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """Differences of label log-probabilities from the reference, over all (prefix, query) pairs."""

    pairs: int
    max_delta: float  #: largest |Δ log p|
    mean_delta: float
    max_margin_delta: float  #: largest |Δ| of the difference between two labels, over all pairs of labels
    mean_margin_delta: float
    argmax_flips: float  #: share of pairs whose likeliest label is another one
    ties: float  #: share of pairs whose two likeliest labels have exactly the same log-probability


@dataclass(frozen=True, slots=True)
class RankFigures:
    """The agreement of two orders."""

    spearman: float
    best_eighth_kept: float  #: share of the reference's best eighth that is in the best eighth here too
    same_best: bool


def compare_scores(found: LabelLogProbs, reference: LabelLogProbs) -> ScoreFigures:
    """Both `[prefixes, queries, labels]`, at least two labels."""
    delta = np.abs(found.astype(np.float64) - reference)
    margins = np.abs(label_differences(found) - label_differences(reference))
    best_two = np.sort(found, axis=-1)[..., -2:]
    return ScoreFigures(
        pairs=int(np.prod(found.shape[:-1])),
        max_delta=float(delta.max()),
        mean_delta=float(delta.mean()),
        max_margin_delta=float(margins.max()),
        mean_margin_delta=float(margins.mean()),
        argmax_flips=float((found.argmax(axis=-1) != reference.argmax(axis=-1)).mean()),
        ties=float((best_two[..., 0] == best_two[..., 1]).mean()),
    )


def compare_order(found: FloatArray, reference: FloatArray) -> RankFigures:
    """Orders of the same items by two scores, more is better  # both `[items]`."""
    return RankFigures(
        spearman=float(spearmanr(found, reference).statistic),
        best_eighth_kept=best_overlap(found, reference, max(len(reference) // 8, 1)),
        same_best=int(found.argmax()) == int(reference.argmax()),
    )


def best_overlap(found: FloatArray, reference: FloatArray, count: int) -> float:
    """Share of the reference's `count` best that are among the `count` best of `found`; ties go to the earlier."""
    kept = set(_best(found, count).tolist()) & set(_best(reference, count).tolist())
    return len(kept) / count


def label_differences(label_log_probs: LabelLogProbs) -> FloatArray:
    """log p(a) - log p(b) for each two labels, a before b  # `[..., labels * (labels - 1) / 2]`."""
    values = label_log_probs.astype(np.float64)
    first, second = np.triu_indices(values.shape[-1], k=1)
    return np.asarray(values[..., first] - values[..., second])


def permutation_keys(label_log_probs: LabelLogProbs, gold: IndexArray) -> FloatArray:
    """A number for each permutation that orders as the search does: by rows it gets right, then by mean margin.

    Args:
        label_log_probs: `[prefixes, rows, labels]`.
        gold: `[rows]`.

    Returns:
        `[prefixes]`, more is better.
    """
    values = label_log_probs.astype(np.float64)
    is_gold = np.arange(values.shape[-1]) == gold[:, None]  # [rows, labels]
    others = np.where(is_gold, -np.inf, values).max(axis=-1)
    margins = (np.where(is_gold, values, -np.inf).max(axis=-1) - others).mean(axis=-1)
    correct = (values.argmax(axis=-1) == gold).sum(axis=-1)
    ranks: NDArray[np.intp] = np.lexsort((margins, correct)).argsort()
    return ranks.astype(np.float64)


def _best(scores: FloatArray, count: int) -> IndexArray:
    return np.argsort(-scores, kind="stable")[:count]
