"""How good predictions are: accuracy with its interval, macro-F1, log-loss and calibration error."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lens_engine.classifier.largest_class import share_of_largest_class
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs, Record

_BINS = 10
"""Bins of the expected calibration error."""

_SAMPLES = 1000
"""Samples of a bootstrap."""


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
    largest_class: float | None = Field(
        None,
        description="Share of the rows that have the most frequent label: the accuracy of always answering it; null in "
        "results of earlier releases.",
    )

    @property
    def beats_largest_class(self) -> bool:
        """Whether the accuracy exceeds that of always answering the most frequent label, if that is known."""
        return self.largest_class is None or self.accuracy > self.largest_class


class MeasuredQuality(Quality):
    """Quality with an interval for every figure."""

    macro_f1_ci95: tuple[float, float] = Field(description="Bootstrap interval of macro-F1 at 95 %.")
    log_loss_ci95: tuple[float, float] = Field(description="Bootstrap interval of the log-loss at 95 %.")
    ece_ci95: tuple[float, float] = Field(description="Bootstrap interval of the calibration error at 95 %.")


class PairedHits(NamedTuple):
    """On how many rows one of two answers alone is right; p of the exact two-sided McNemar test."""

    only_first: int
    only_second: int
    p_value: float


class RowFigures(NamedTuple):
    """What is measured of the answers to rows, in as much memory for many labels as for two."""

    gold: IndexArray  #: `[rows]`, index of each row's label
    answers: IndexArray  #: `[rows]`, index of the most probable label
    confidences: FloatArray  #: `[rows]`, probability of the answer
    losses: FloatArray  #: `[rows]`, negative log-probability of the gold label (nats)

    @classmethod
    def of(cls, class_log_probs: FloatArray, gold: IndexArray) -> Self:
        """
        Args:
            class_log_probs: `[rows, labels]`, natural log; each row sums to one as probabilities.
            gold: `[rows]`, index of each row's label.
        """
        answers, confidences = np.asarray(class_log_probs.argmax(axis=1)), np.exp(class_log_probs.max(axis=1))
        return cls(gold, answers, confidences, gold_losses(class_log_probs, gold))

    @classmethod
    def join(cls, parts: "Sequence[RowFigures]") -> Self:
        """The figures of all rows of one part or more, in order."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    @property
    def hits(self) -> NDArray[np.bool_]:
        """`[rows]`, whether the answer is the gold label."""
        return np.asarray(self.answers == self.gold)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each answer, to four decimals."""
        return tuple(self.confidences.round(4).tolist())


def measure_quality(class_log_probs: FloatArray, gold: IndexArray) -> Quality:
    """The quality of class probabilities.

    Args:
        class_log_probs: `[rows, labels]`, natural log; each row sums to one as probabilities.
        gold: `[rows]`, index of each row's label.
    """
    return measure_figures(RowFigures.of(class_log_probs, gold))


def measure_figures(figures: RowFigures) -> Quality:
    """As `measure_quality`."""
    hits, n = int(figures.hits.sum()), len(figures.gold)
    return Quality(
        accuracy=hits / n,
        n=n,
        ci95=interval(hits, n),
        macro_f1=measure_macro_f1(figures.answers, figures.gold),
        log_loss=float(figures.losses.mean()),
        ece=_calibration_error(figures.confidences, figures.hits),
        largest_class=share_of_largest_class(figures.gold),
    )


def measure_with_intervals(figures: RowFigures) -> MeasuredQuality:
    """As `measure_quality`. The intervals are percentiles over samples of the rows, drawn with a fixed seed.

    Macro-F1 of a sample is over the labels that occur among all rows.
    """
    gold, answers, confidences, losses = figures
    labels, generator, n, found = np.unique(gold), np.random.default_rng(0), len(gold), []
    for _ in range(_SAMPLES):
        rows = generator.integers(n, size=n)
        hits = answers[rows] == gold[rows]
        f1 = _macro_f1(answers[rows], gold[rows], labels)
        found.append((f1, losses[rows].mean(), _calibration_error(confidences[rows], hits)))
    low, high = np.percentile(np.array(found), (2.5, 97.5), axis=0)
    intervals = [(float(one), float(other)) for one, other in zip(low, high, strict=True)]
    names = ("macro_f1_ci95", "log_loss_ci95", "ece_ci95")
    return MeasuredQuality(**dict(measure_figures(figures)), **dict(zip(names, intervals, strict=True)))


def compare_hits(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> PairedHits:
    """Compare two answers to the same rows `[rows]`, by the rows where exactly one of them is right."""
    from scipy.stats import binomtest  # slow to import; a run needs it only at its end

    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    p_value = float(binomtest(only_first, differing).pvalue) if differing else 1.0
    return PairedHits(only_first, only_second, p_value)


def place_in_bins(confidences: FloatArray) -> IndexArray:
    """`[rows]`, the bin of the expected calibration error of each probability, from 0."""
    return np.minimum((confidences * _BINS).astype(np.intp), _BINS - 1)


def gold_losses(class_log_probs: FloatArray | LabelLogProbs, gold: IndexArray) -> FloatArray:
    """`[rows]`, negative log-probability of the gold label (nats)."""
    return np.asarray(-class_log_probs[np.arange(len(gold)), gold])


def measure_macro_f1(predictions: IndexArray, gold: IndexArray) -> float:
    """F1, averaged over the labels that occur among the rows."""
    from sklearn.metrics import f1_score  # slow to import; a run needs it only at its end

    return float(f1_score(gold, predictions, labels=np.unique(gold), average="macro", zero_division=0.0))


def _macro_f1(predictions: IndexArray, gold: IndexArray, labels: IndexArray) -> float:
    """As `measure_macro_f1`, over these labels. scikit-learn takes a hundred times as long for one of many samples."""
    size = int(max(labels.max(), predictions.max())) + 1
    hits = np.bincount(gold[predictions == gold], minlength=size)
    sums = np.bincount(gold, minlength=size) + np.bincount(predictions, minlength=size)
    return float((2 * hits[labels] / np.maximum(sums[labels], 1)).mean())


def interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of the share `hits / n`."""
    from scipy.stats import binomtest  # slow to import; a run needs it only at its end

    found = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    return float(found.low), float(found.high)


def _calibration_error(confidences: FloatArray, hits: NDArray[np.bool_]) -> float:
    """Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (AAAI 2015), with equal bins."""
    bins = place_in_bins(confidences)
    gaps = [abs(float(confidences[own].sum() - hits[own].sum())) for own in (bins == one for one in np.unique(bins))]
    return sum(gaps) / len(hits)
