"""Stage 1: progressive example filtering (Li & Qiu 2023, section 3.1, Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.config import FilteringOptions
from lens_engine.metering.meter import Meter
from lens_engine.method.infoscore import contributions, info_scores
from lens_engine.model.limits import check_floors, has_floors
from lens_engine.prompt.template import Task
from lens_engine.rows.plan import FilterRound
from lens_engine.rows.quotas import count_labels, share_equally, take_quotas
from lens_engine.types import Example, FloatArray, IndexArray


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
