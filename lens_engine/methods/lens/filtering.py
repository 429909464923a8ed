"""Stage 1: progressive example filtering (Li & Qiu 2023, section 3.1, Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.config import FilteringOptions
from lens_engine.judging.calibration import calibrate
from lens_engine.metering.meter import Meter
from lens_engine.methods.lens.infoscore import contributions, info_scores
from lens_engine.plan.rounds import FilterRound
from lens_engine.rows.quotas import count_labels, share_equally, take_quotas
from lens_engine.scoring.base import Prefix
from lens_engine.task.template import CONTENT_FREE_TEXT, Task
from lens_engine.types import Example, FloatArray, IndexArray, LabelLogProbs


@dataclass(frozen=True, slots=True)
class FilterState:
    """The survivors and their contributions.

    `contributions  # [survivors, score_examples]` holds the columns computed so far. Each score set begins with the one
    before, so a round adds columns and drops rows, and computes no pair twice.
    """

    rounds_done: int
    survivors: IndexArray  #: indices into the candidates, ascending
    contributions: FloatArray
    answers: LabelLogProbs | None = None
    """`[survivors + 1, score_examples, labels]`, the last row zero-shot. Kept for "centred" alone, which needs all of
    them again when the score set grows."""

    @classmethod
    def start(cls, num_candidates: int) -> "FilterState":
        return cls(0, np.arange(num_candidates), np.empty((num_candidates, 0)))

    def pick_survivors(self, candidates: Sequence[Example]) -> tuple[Example, ...]:
        """The surviving examples, in the order of `survivors`."""
        return tuple(candidates[index] for index in self.survivors)

    @property
    def info_scores(self) -> FloatArray:
        """I(e, S) of each survivor on the score set so far  # [survivors]."""
        return info_scores(self.contributions)

    @property
    def scores_by_candidate(self) -> dict[int, float]:
        """`info_scores` by index of the candidate."""
        return dict(zip(self.survivors.tolist(), self.info_scores.tolist(), strict=True))


@dataclass(frozen=True)
class Filter:
    """Scores candidates and keeps the most informative, round by round."""

    task: Task
    candidates: Sequence[Example]
    score_set: Sequence[Example]
    options: FilteringOptions
    balanced: bool

    def run_round(self, state: FilterState, plan: FilterRound, meter: Meter) -> FilterState:
        """Score the survivors on the round's new score examples, and keep the round's best.

        Raises:
            Stopped: the budget or a cancellation ended the run within the round; the old state stays valid.
        """
        scored = state.contributions.shape[1]
        answers = self._score(state.survivors, self.score_set[scored : plan.score_size], meter)
        if self.options.contribution == "centred":
            if state.answers is not None:
                answers = np.concatenate([state.answers, answers], axis=1)
            matrix = self._contributions(answers, self.score_set[: plan.score_size], meter)
            kept = self.rank(state.survivors, info_scores(matrix), plan.keep)
            return FilterState(state.rounds_done + 1, state.survivors[kept], matrix[kept], _keep(answers, kept))
        columns = self._contributions(answers, self.score_set[scored : plan.score_size], meter)
        matrix = np.concatenate([state.contributions, columns], axis=1)
        kept = self.rank(state.survivors, info_scores(matrix), plan.keep)
        return FilterState(state.rounds_done + 1, state.survivors[kept], matrix[kept])

    def cut(self, state: FilterState, keep: int) -> FilterState:
        """The state with only the best `keep` survivors, by InfoScore on the score examples so far."""
        kept = self.rank(state.survivors, state.info_scores, keep)
        answers = _keep(state.answers, kept)
        return FilterState(state.rounds_done, state.survivors[kept], state.contributions[kept], answers)

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

    def _score(self, survivors: IndexArray, new: Sequence[Example], meter: Meter) -> LabelLogProbs | FloatArray:
        """`[survivors + 1, new, labels]`: each survivor as the only demonstration, and zero-shot last."""
        if not new:
            return np.empty((len(survivors) + 1, 0, len(self.task.labels)))
        queries = [self.task.render_query(example.text) for example in new]
        prefixes = [(self.task.render_demonstration(self.candidates[index]),) for index in survivors]
        zero_shot = self._ask([()], queries, meter)
        return np.concatenate([self._ask(prefixes, queries, meter), zero_shot])

    def _contributions(
        self, answers: LabelLogProbs | FloatArray, score_examples: Sequence[Example], meter: Meter
    ) -> FloatArray:
        span_tokens = [meter.count_tokens(span) for span in self.task.label_spans]
        gold = self.task.index_labels(score_examples)
        return contributions(self.options.contribution, answers[:-1], answers[-1], gold, span_tokens)

    def _ask(self, prefixes: Sequence[Prefix], queries: Sequence[str], meter: Meter) -> LabelLogProbs | FloatArray:
        """Label log-probabilities `[prefixes, queries, labels]`, calibrated if the options say so."""
        if not self.options.calibrated:
            return meter.score(prefixes, queries)
        scores = meter.score(prefixes, [*queries, self.task.render_query(CONTENT_FREE_TEXT)])
        return calibrate(scores[:, :-1], scores[:, -1])


def _keep(answers: LabelLogProbs | FloatArray | None, kept: IndexArray) -> LabelLogProbs | None:
    """The answers of the survivors that are kept, and the zero-shot answers."""
    return None if answers is None else answers[[*kept, -1]].astype(np.float32)
