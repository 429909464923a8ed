"""Stage 1: progressive example filtering (Li & Qiu 2023, section 3.1, Algorithm 1), by InfoScores (Eq. 2 and 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.config import Contribution, FilteringOptions
from lens_engine.metering.meter import Meter
from lens_engine.model.limits import check_floors, has_floors
from lens_engine.prompt.template import Task
from lens_engine.rows.plan import FilterRound
from lens_engine.rows.quotas import count_labels, share_equally, take_quotas
from lens_engine.types import Example, FloatArray, IndexArray, LabelLogProbs


def contributions(
    kind: Contribution, one_shot: LabelLogProbs, zero_shot: LabelLogProbs, gold: IndexArray
) -> FloatArray:
    """c(e, e') of each candidate e to each score example e'.

    Args:
        kind: "label" (the gold label's probability among the labels) or "vocabulary" (exactly Eq. 3).
        one_shot: `[candidates, score_examples, labels]`, with each candidate as the only demonstration.
        zero_shot: `[score_examples, labels]`.
        gold: `[score_examples]`, index of each score example's label.

    Returns:
        `contributions  # [candidates, score_examples]` float64; higher is better for every kind.
    """
    goodness = _GOODNESS[kind]
    with_demonstration = goodness(one_shot.astype(np.float64), gold)
    without = goodness(zero_shot.astype(np.float64)[None], gold)
    return with_demonstration - without


def info_scores(matrix: FloatArray) -> FloatArray:
    """I(e, S): each candidate's mean contribution to the score set (Eq. 2).

    The paper takes the sum. The mean has the same order and does not grow with the score set.

    Args:
        matrix: `[candidates, score_examples]`; NaN for the contribution of an example to itself, which is left out.

    Returns:
        `info_scores  # [candidates]`; 0 of one that is the whole score set.
    """
    return np.asarray(np.nansum(matrix, axis=1) / np.maximum((~np.isnan(matrix)).sum(axis=1), 1))


def _gold(values: FloatArray, gold: IndexArray) -> FloatArray:
    return np.asarray(np.take_along_axis(values, gold[None, :, None], axis=2)[..., 0])


def _label_goodness(log_probs: FloatArray, gold: IndexArray) -> FloatArray:
    from scipy.special import log_softmax  # slow to import

    return np.asarray(np.exp(_gold(log_softmax(log_probs, axis=2), gold)))


def _vocabulary_goodness(log_probs: FloatArray, gold: IndexArray) -> FloatArray:
    return np.asarray(np.exp(_gold(log_probs, gold)))


_GOODNESS: dict[Contribution, Callable[[FloatArray, IndexArray], FloatArray]] = {
    "label": _label_goodness,
    "vocabulary": _vocabulary_goodness,
}


@dataclass(frozen=True, slots=True)
class FilterState:
    """The survivors and their contributions.

    `contributions  # [survivors, score_examples]` holds the columns computed so far. Each score set begins with the one
    before, so a round adds columns and drops rows, and computes no pair twice.
    """

    rounds_done: int
    survivors: IndexArray  #: indices into the candidates, ascending
    contributions: FloatArray

    @classmethod
    def start(cls, num_candidates: int) -> "FilterState":
        return cls(0, np.arange(num_candidates), np.empty((num_candidates, 0)))

    def pick_survivors(self, candidates: Sequence[Example]) -> tuple[Example, ...]:
        """The surviving examples, in the order of `survivors`."""
        return tuple(candidates[index] for index in self.survivors)

    @property
    def info_scores(self) -> FloatArray:
        """I(e, S) of each survivor on the score set so far  # [survivors]; 0 without any."""
        if not self.contributions.shape[1]:
            return np.zeros(len(self.survivors))
        return info_scores(self.contributions)

    @property
    def scores_by_candidate(self) -> dict[int, float]:
        """`info_scores` by index of the candidate."""
        return dict(zip(self.survivors.tolist(), self.info_scores.tolist(), strict=True))

    @property
    def features(self) -> FloatArray:
        """`contributions`, with its InfoScore for that of an example to itself: f(e) of each survivor."""
        return np.where(np.isnan(self.contributions), self.info_scores[:, None], self.contributions)

    @property
    def gains_by_candidate(self) -> dict[int, FloatArray]:
        """The line of `contributions` by index of the candidate; nothing before the first column."""
        is_scored = self.contributions.shape[1] > 0
        return dict(zip(self.survivors.tolist(), self.contributions, strict=True)) if is_scored else {}


@dataclass(frozen=True)
class Filter:
    """Scores candidates and keeps the most informative, round by round."""

    task: Task
    candidates: Sequence[Example]
    score_set: Sequence[Example]
    options: FilteringOptions
    balanced: bool

    def run_round(self, state: FilterState, plan: FilterRound, meter: Meter) -> FilterState:
        """Score the survivors on the round's new score examples, and keep the round's best."""
        scored = state.contributions.shape[1]
        columns = self._score(state.survivors, self.score_set[scored : plan.score_size], meter)
        matrix = np.concatenate([state.contributions, columns], axis=1)
        kept = self.rank(state.survivors, info_scores(matrix), plan.keep)
        return FilterState(state.rounds_done + 1, state.survivors[kept], matrix[kept])

    def draw(self, state: FilterState, keep: int, rng: np.random.Generator) -> FilterState:
        """The state with `keep` survivors drawn at random, label-balanced as `rank` does it."""
        kept = self.rank(state.survivors, rng.random(len(state.survivors)), keep)
        return FilterState(state.rounds_done, state.survivors[kept], state.contributions[kept])

    def cut(self, state: FilterState, keep: int) -> FilterState:
        """The state with only the best `keep` survivors, by InfoScore on the score examples so far."""
        kept = self.rank(state.survivors, state.info_scores, keep)
        return FilterState(state.rounds_done, state.survivors[kept], state.contributions[kept])

    def rank(self, survivors: IndexArray, scores: FloatArray, keep: int) -> IndexArray:
        """Positions of the best `keep` survivors, ascending; ties go to the earlier row.

        If the selection is label-balanced, each label has the same quota; a label with fewer survivors keeps all. With
        fewer places than labels, the best survivors stay, whatever their labels.
        """
        best_first = np.lexsort((survivors, -scores))
        if not self.balanced or keep < len(self.task.labels):
            return np.sort(best_first[:keep])
        examples = [self.candidates[index] for index in survivors]
        quotas = share_equally(keep, count_labels(examples, self.task.labels))
        kept, _ = take_quotas(best_first.tolist(), quotas, lambda position: examples[position].label)
        return np.sort(np.array(kept, dtype=np.intp))

    def _score(self, survivors: IndexArray, new: Sequence[Example], meter: Meter) -> FloatArray:
        """`[survivors, new]`: the contribution of each survivor to each new score example."""
        if not new:
            return np.empty((len(survivors), 0))
        queries = [self.task.render_query(example.text) for example in new]
        prefixes = [self.task.render_prefix([self.candidates[index]]) for index in survivors]
        one_shot, zero_shot = meter.score(prefixes, queries), meter.score([self.task.opening], queries)[0]
        if has_floors(self.task):
            check_floors(one_shot, meter.scorer.identity.model)
        found = contributions(self.options.contribution, one_shot, zero_shot, self.task.index_labels(new))
        own = np.array([self.candidates[index].row for index in survivors])
        return np.where(own[:, None] == [one.row for one in new], np.nan, found)  # none of an example to itself
