"""How good predictions are: accuracy with its interval, macro-F1, log-loss and calibration error."""

import numpy as np
from pydantic import Field

from lens_engine.types import FloatArray, IndexArray, Record

_BINS = 10
"""Bins of the expected calibration error."""


class Accuracy(Record):
    """Share of rows whose most probable label is the gold label."""

    accuracy: float = Field(description="Accuracy, between 0 and 1.")
    n: int = Field(description="Number of rows judged.")
    ci95: tuple[float, float] = Field(description="Wilson interval at 95 %: lower and upper bound.")
    macro_f1: float | None = Field(None, description="Macro-averaged F1; null for validation and confirmation rows.")


class Quality(Accuracy):
    """Accuracy of a classifier, and how far its class probabilities can be trusted."""

    log_loss: float = Field(description="Mean negative log-probability of the gold label (nats).")
    ece: float = Field(
        description="Expected calibration error: mean distance between the probability of the predicted label and the "
        "accuracy, over ten bins of equal width."
    )


def measure_quality(class_log_probs: FloatArray, gold: IndexArray) -> Quality:
    """The quality of class probabilities.

    Args:
        class_log_probs: `[rows, labels]`, natural log; each row sums to one as probabilities.
        gold: `[rows]`, index of each row's label.
    """
    predictions = np.asarray(class_log_probs.argmax(axis=1))
    hits, n = int((predictions == gold).sum()), len(gold)
    return Quality(
        accuracy=hits / n,
        n=n,
        ci95=interval(hits, n),
        macro_f1=measure_macro_f1(predictions, gold),
        log_loss=float(gold_losses(class_log_probs, gold).mean()),
        ece=_calibration_error(np.exp(class_log_probs.max(axis=1)), predictions == gold),
    )


def gold_losses(class_log_probs: FloatArray, gold: IndexArray) -> FloatArray:
    """`[rows]`, negative log-probability of the gold label (nats)."""
    return np.asarray(-np.take_along_axis(class_log_probs, gold[:, None], axis=1)[:, 0])


def measure_macro_f1(predictions: IndexArray, gold: IndexArray) -> float:
    """F1, averaged over the labels that occur among the rows."""
    from sklearn.metrics import f1_score  # slow to import; a run needs it only at its end

    return float(f1_score(gold, predictions, labels=np.unique(gold), average="macro", zero_division=0.0))


def interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of the share `hits / n`."""
    from scipy.stats import binomtest  # slow to import; a run needs it only at its end

    found = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    return float(found.low), float(found.high)


def _calibration_error(confidences: FloatArray, hits: IndexArray) -> float:
    """Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (AAAI 2015), with equal bins."""
    bins = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    gaps = [abs(float(confidences[own].sum() - hits[own].sum())) for own in (bins == one for one in np.unique(bins))]
    return sum(gaps) / len(hits)
