"""How good predictions are: figures with intervals, macro-F1, and the probability below which to abstain."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lens_engine.config import Objective
from lens_engine.model.limits import find_rows, pick_answers
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs, Record


def measure_macro_f1(predictions: IndexArray, gold: IndexArray, labels: IndexArray | None = None) -> float:
    """F1 of `[rows]`, averaged over the labels of the rows, or over `labels`, as scikit-learn's `f1_score`.

    A label without a row is left out of the mean, whether it is predicted or not. scikit-learn takes a hundred times as
    long.
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


def smooth_rows(log_probs: FloatArray | LabelLogProbs, gold: IndexArray, objective: Objective) -> FloatArray:
    """`[rows]`, as `value_rows`, but a row counts half by its hit and half by its margin m (nats): (1 + tanh m) / 2.

    The second half is a smoothed count of errors (Glick, "Additive estimators for probabilities of correct
    classification", Pattern Recognition 10, 1978). It varies less from rows to rows, so few rows tell contenders apart;
    alone it prefers what is wide to what is right. To macro-F1 half of the difference of the two counts is added, where
    the rows of each label weigh the same.

    Args:
        log_probs: `[rows, labels]`.
        gold: `[rows]`, index of each row's label.
        objective: accuracy or macro-F1.
    """
    answers, counts = pick_answers(log_probs, gold), np.bincount(gold)
    smoothed = np.where(find_rows(log_probs), 0.0, (1 + np.tanh(measure_margins(log_probs, gold))) / 2)
    weights = 0.5 if objective == "accuracy" else len(gold) / (2 * (counts > 0).sum() * counts[gold])
    return np.asarray(value_rows(answers, gold, objective) + weights * (smoothed - (answers == gold)))


def measure_margins(log_probs: FloatArray | LabelLogProbs, gold: IndexArray) -> FloatArray:
    """`[rows]`, the gold label's log-probability minus the highest of the other labels (nats)."""
    values, places = log_probs.astype(np.float64), gold[:, None]
    others = values.copy()
    np.put_along_axis(others, places, -np.inf, axis=1)
    return np.asarray(np.take_along_axis(values, places, axis=1)[:, 0] - others.max(axis=1))


def standard_error(values: FloatArray) -> float:
    """Standard error of the mean of values; 0 for a single one."""
    return float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0


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


_SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_SCALE = 10_000


class AnsweredShare(Record):
    """The answers of at least a threshold."""

    threshold: float = Field(description="Least probability of an answer that is given; `answer_above` takes it.")
    share: float = Field(description="Share of the rows whose answer has at least this probability.")
    accuracy: float = Field(description="Accuracy on these rows.")


def measure_shares(confidences: FloatArray, hits: NDArray[np.bool_]) -> tuple[AnsweredShare, ...]:
    """The curve of accuracy against the share answered, from all rows to a tenth of them.

    Thresholds have four decimals, so that a threshold that is read from a table answers the rows that were counted.
    """
    ordered, n = np.sort(confidences)[::-1], len(confidences)
    least = [float(ordered[int(np.ceil(share * n)) - 1]) for share in _SHARES]
    found = dict.fromkeys(np.floor(one * _SCALE) / _SCALE for one in least)
    given = [(float(threshold), confidences >= threshold) for threshold in found]
    return tuple(
        AnsweredShare(threshold=threshold, share=float(own.mean()), accuracy=float(hits[own].mean()))
        for threshold, own in given
    )


_BINS = 10
"""Bins of the expected calibration error."""

_SAMPLES = 1000
"""Samples of a bootstrap."""

_CHANCE, _TWO_SIDED = 0.05, 1.96
"""Largest p-value of a clear difference, and how many standard errors that is."""


class Accuracy(Record):
    """Share of rows whose most probable label is the gold label."""

    accuracy: float = Field(description="Accuracy, between 0 and 1.")
    n: int = Field(description="Number of rows judged.")
    ci95: tuple[float, float] = Field(description="Wilson interval at 95 %: lower and upper bound.")
    macro_f1: float | None = Field(
        None,
        description="Macro-averaged F1 over the labels that have rows; a label without a row is left out of the mean.",
    )
    macro_f1_error: float | None = Field(None, description="Standard error of macro-F1, by the jackknife.")
    largest_class: float | None = Field(
        None, description="Share of the rows that have the most frequent label: the accuracy of always answering it."
    )
    largest_class_macro_f1: float | None = Field(None, description="Macro-F1 of always answering this label.")

    def figure(self, objective: Objective) -> float:
        """Accuracy or macro-F1."""
        return self.accuracy if objective == "accuracy" or self.macro_f1 is None else self.macro_f1

    def error(self, objective: Objective) -> float:
        """Standard error of the figure: of a share, or by the jackknife."""
        if objective == "accuracy" or self.macro_f1_error is None:
            return float((self.accuracy * (1 - self.accuracy) / self.n) ** 0.5)
        return self.macro_f1_error

    def beats_largest_class(self, objective: Objective = "accuracy") -> bool:
        """Whether the figure exceeds that of always answering the most frequent label, if that is known."""
        largest = self.largest_class if objective == "accuracy" else self.largest_class_macro_f1
        return largest is None or self.figure(objective) > largest


class Quality(Accuracy):
    """Accuracy of a classifier, and how far its class probabilities can be trusted."""

    log_loss: float = Field(description="Mean negative log-probability of the gold label (nats).")
    ece: float = Field(
        description="Expected calibration error: mean distance between the probability of the predicted label and the "
        "accuracy, over ten bins of equal width."
    )
    shares_answered: tuple[AnsweredShare, ...] = Field(
        (),
        description="Accuracy against the share of rows that are answered, where answers of a low probability are left "
        "to a person; from all rows to a tenth of them.",
    )


class MeasuredQuality(Quality):
    """Quality with an interval for every figure."""

    macro_f1_ci95: tuple[float, float] = Field(description="Bootstrap interval of macro-F1 at 95 %.")
    log_loss_ci95: tuple[float, float] = Field(description="Bootstrap interval of the log-loss at 95 %.")
    ece_ci95: tuple[float, float] = Field(description="Bootstrap interval of the calibration error at 95 %.")


class RowFigures(NamedTuple):
    """What is measured of the answers to rows, in as much memory for many labels as for two."""

    gold: IndexArray  #: `[rows]`, index of each row's label
    answers: IndexArray  #: `[rows]`, as `pick_answers`
    confidences: FloatArray  #: `[rows]`, probability of the answer
    losses: FloatArray  #: `[rows]`, negative log-probability of the gold label (nats)

    @classmethod
    def of(cls, class_log_probs: FloatArray, gold: IndexArray) -> Self:
        """
        Args:
            class_log_probs: `[rows, labels]`, natural log; each row sums to one as probabilities.
            gold: `[rows]`, index of each row's label.
        """
        confidences = np.exp(class_log_probs.max(axis=1))
        return cls(gold, pick_answers(class_log_probs, gold), confidences, gold_losses(class_log_probs, gold))

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


def share_of_largest_class(gold: IndexArray) -> float:
    """Share of the rows that have the most frequent label: how often always answering it is right."""
    return float(np.bincount(gold).max() / len(gold))


def measure_figures(figures: RowFigures) -> Quality:
    """How good class probabilities are on rows."""
    return Quality(
        **dict(measure_accuracy(figures.answers, figures.gold)),
        log_loss=float(figures.losses.mean()),
        ece=_calibration_error(figures.confidences, figures.hits),
        shares_answered=measure_shares(figures.confidences, figures.hits),
    )


def measure_accuracy(predictions: IndexArray, gold: IndexArray) -> Accuracy:
    """How often predictions `[rows]` are right, with macro-F1, beside always answering the most frequent label."""
    hits, n = int((predictions == gold).sum()), len(gold)
    return Accuracy(
        accuracy=hits / n,
        n=n,
        ci95=wilson(hits / n, n),
        macro_f1=measure_macro_f1(predictions, gold),
        macro_f1_error=standard_error(value_rows(predictions, gold, "macro_f1")),
        largest_class=share_of_largest_class(gold),
        largest_class_macro_f1=measure_macro_f1(np.full(n, np.bincount(gold).argmax()), gold),
    )


def measure_with_intervals(figures: RowFigures) -> MeasuredQuality:
    """As `measure_figures`. The intervals are percentiles over samples of the rows, drawn with a fixed seed.

    Macro-F1 of a sample is over the labels that occur among all rows.
    """
    gold, answers, confidences, losses = figures
    labels, generator, n, found = np.unique(gold), np.random.default_rng(0), len(gold), []
    for _ in range(_SAMPLES):
        rows = generator.integers(n, size=n)
        hits = answers[rows] == gold[rows]
        f1 = measure_macro_f1(answers[rows], gold[rows], labels)
        found.append((f1, losses[rows].mean(), _calibration_error(confidences[rows], hits)))
    low, high = np.percentile(np.array(found), (2.5, 97.5), axis=0)
    intervals = [(float(one), float(other)) for one, other in zip(low, high, strict=True)]
    names = ("macro_f1_ci95", "log_loss_ci95", "ece_ci95")
    return MeasuredQuality(**dict(measure_figures(figures)), **dict(zip(names, intervals, strict=True)))


def is_clearly_better(answers: IndexArray, others: IndexArray, gold: IndexArray, objective: Objective) -> bool:
    """Whether answers `[rows]` are better than others to the same rows by more than chance, at 5 %, two-sided.

    By the exact McNemar test; for macro-F1, by its standard error.
    """
    from scipy.stats import binomtest  # slow to import; a run needs it only at its end

    if objective == "macro_f1":
        differences = value_rows(answers, gold, objective) - value_rows(others, gold, objective)
        return float(differences.mean()) > _TWO_SIDED * standard_error(differences)
    hits, other_hits = answers == gold, others == gold
    only, only_other = int((hits & ~other_hits).sum()), int((other_hits & ~hits).sum())
    return only > only_other and float(binomtest(only, only + only_other).pvalue) < _CHANCE


def gold_losses(class_log_probs: FloatArray | LabelLogProbs, gold: IndexArray) -> FloatArray:
    """`[rows]`, negative log-probability of the gold label (nats)."""
    return np.asarray(-class_log_probs[np.arange(len(gold)), gold])


def wilson(share: float, n: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `n` rows; hits and rows need be no whole numbers."""
    share = min(max(share, 0.0), 1.0)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return centre - half if share > 0.0 else 0.0, centre + half if share < 1.0 else 1.0  # exact, without rounding


def _calibration_error(confidences: FloatArray, hits: NDArray[np.bool_]) -> float:
    """Naeini et al., "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (AAAI 2015), with equal bins."""
    bins = np.minimum((confidences * _BINS).astype(np.intp), _BINS - 1)
    gaps = [abs(float(confidences[own].sum() - hits[own].sum())) for own in (bins == one for one in np.unique(bins))]
    return sum(gaps) / len(hits)
