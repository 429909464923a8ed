"""Objectives: what a permutation is ranked by, for a use of the prompt in production or for both, by the option
`objective`: accuracy or macro-F1.

prompt: the likeliest label word is the answer. probabilities: label biases are added first. At eight demonstrations
most of the spread between permutations is a bias towards some labels, which label biases take out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lens_engine.classifier.heads import log_label_shares
from lens_engine.classifier.quality import measure_macro_f1, measure_margins, smooth_rows
from lens_engine.config import Objective, SelectionConfig, Use
from lens_engine.method.judgement import EvaluationRows, Judgement
from lens_engine.model.limits import keep_unanswered
from lens_engine.types import FloatArray, IndexArray, Permutation


@dataclass(frozen=True, slots=True)
class Score:
    """What ranks a permutation."""

    figure: float  #: accuracy or macro-F1, smoothed (`smooth_rows`) but for the paper's letter
    margin: float  #: mean over rows of the gold label's log-probability minus the highest other one (nats)

    @classmethod
    def of(cls, judgement: Judgement, objective: Objective = "accuracy", *, is_smoothed: bool = False) -> "Score":
        """The score of a judgement."""
        scores, gold = judgement.label_log_probs, judgement.gold
        if is_smoothed:
            figure = smooth_rows(scores, gold, objective).mean()
        elif objective == "accuracy":
            figure = (judgement.predictions == gold).mean()
        else:
            figure = measure_macro_f1(judgement.predictions, gold)
        return cls(float(figure), float(measure_margins(scores, gold).mean()))

    @classmethod
    def mean(cls, scores: Sequence["Score"]) -> "Score":
        """The mean of figures, and that of margins."""
        return cls(*np.mean([(one.figure, one.margin) for one in scores], axis=0).tolist())


def rank_key(permutation: Permutation, score: Score) -> tuple[float, float, Permutation]:
    """Sort key, best first: accuracy or macro-F1, the margin, then the permutation's indices."""
    return (-score.figure, -score.margin, permutation)


_PRIOR_ROWS = 10
"""Weight, in rows, of the mean over all permutations in the estimate of one permutation's bias from few rows."""

_STEPS, _LEAST_SCALE = 100, 1e-300
"""Of the scaling of label biases. Confident prompts need many steps."""


class RankingObjective(Protocol):
    """Ranks permutations that were judged on the same rows."""

    def scores(self, judgements: Sequence[Judgement], *, is_final: bool) -> list[Score]:
        """The score of each judgement; of final ones, which are on all rows, it depends on its own judgement alone."""
        ...


@dataclass(frozen=True)
class PromptObjective:
    """By the smoothed figure of the likeliest label word; the paper: by the figure, then by the margin."""

    figure: Objective = "accuracy"
    is_smoothed: bool = True

    def scores(self, judgements: Sequence[Judgement], *, is_final: bool) -> list[Score]:  # noqa: ARG002
        return [Score.of(judgement, self.figure, is_smoothed=self.is_smoothed) for judgement in judgements]


@dataclass(frozen=True)
class ProbabilitiesObjective:
    """By the smoothed figure after label biases.

    On few rows the mean of a permutation's label log-probabilities is shrunk towards the mean over all permutations
    judged on these rows.
    """

    log_shares: FloatArray  #: `[labels]`, log of each label's share of all rows
    figure: Objective = "accuracy"

    @classmethod
    def of(cls, gold: IndexArray, num_labels: int, figure: Objective = "accuracy") -> "ProbabilitiesObjective":
        return cls(log_label_shares(gold, num_labels), figure)

    def scores(self, judgements: Sequence[Judgement], *, is_final: bool) -> list[Score]:
        if not judgements:
            return []
        if is_final:
            return [self._score(judgement, find_label_biases(judgement)) for judgement in judgements]
        found = [_within_labels(judgement).mean(axis=0) for judgement in judgements]
        means, num_rows = np.array(found), len(judgements[0].gold)  # means: [permutations, labels]
        means = (num_rows * means + _PRIOR_ROWS * means.mean(axis=0)) / (num_rows + _PRIOR_ROWS)
        return [self._score(one, self.log_shares - mean) for one, mean in zip(judgements, means, strict=True)]

    def _score(self, judgement: Judgement, biases: FloatArray) -> Score:
        corrected = keep_unanswered(_normalise(_within_labels(judgement) + biases), judgement.label_log_probs)
        return Score.of(Judgement(corrected.astype(np.float32), judgement.gold), self.figure, is_smoothed=True)


def make_objective(config: SelectionConfig, rows: EvaluationRows, use: Use) -> RankingObjective:
    """The objective of a use on these rows."""
    if use == "probabilities":
        return ProbabilitiesObjective.of(rows.gold, len(rows.task.labels), config.objective)
    return PromptObjective(config.objective, is_smoothed=not config.search.starts_narrow)


def find_label_biases(judgement: Judgement) -> FloatArray:
    """`[labels]`, mean 0: the biases (nats) that bring the mean probability of each label to its share of the rows.

    Rows and columns are scaled in turn (Sinkhorn & Knopp, 1967), until nothing changes, and at most 100 times. The mean
    of the log-probabilities counts as a further row, so that no single row decides about a label without rows.
    """
    within = _within_labels(judgement)
    within = _normalise(np.vstack([within, within.mean(axis=0)]))
    largest = within.max(axis=0)
    likelihoods = np.exp(within - largest)  # [rows, labels], without underflow of a whole row or column
    shares = np.exp(log_label_shares(judgement.gold, within.shape[1]))
    scales = np.ones_like(shares)
    for _ in range(_STEPS):
        before = scales
        scales = shares / (likelihoods.T @ (1 / (likelihoods @ scales)))
        scales = np.maximum(scales / np.maximum.reduce(scales), _LEAST_SCALE)
        if (scales == before).all():
            break
    biases = np.log(scales) - largest
    return np.asarray(biases - biases.mean())


def _within_labels(judgement: Judgement) -> FloatArray:
    """`[rows, labels]`, log-probabilities normalised over the labels."""
    return _normalise(judgement.label_log_probs.astype(np.float64))


def _normalise(scores: FloatArray) -> FloatArray:
    """Without the floor of class probabilities, which would keep a part of a large bias."""
    from scipy.special import log_softmax  # slow to import

    return np.asarray(log_softmax(scores, axis=1))
