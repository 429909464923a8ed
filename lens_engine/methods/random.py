"""The methods without a search: no demonstrations, one random permutation, the best of many random permutations.

Li & Qiu (2023), section 4.1. Random-and-validation at equal budget is the strongest rival, so the evaluation of a LENS
run includes it too (`RandomSearch`).
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.errors import NothingSelected
from lens_engine.judging.judgement import EvaluationRows, Judgement
from lens_engine.judging.objective import AccuracyObjective, HeadObjective, RankingObjective
from lens_engine.judging.ranker import Finished, Outcome, Ranker
from lens_engine.judging.score import Score, rank_key
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.methods.base import Findings, FirstStep, Method, PackedState, Run, pick_pool
from lens_engine.methods.permutations import draw_permutations
from lens_engine.pricing.prices import count_pairs
from lens_engine.types import Permutation, Phase, Record, StopReason, StoredLogProbs

BATCH = 8
"""Number of random permutations judged between two checkpoints."""


def draw_random(run: Run, first: int, count: int) -> list[Permutation]:
    """Random permutations `first` to `first + count` (exclusive) of a run's candidates."""
    return draw_permutations(run.rows.candidates, run.task, run.rows.quotas, run.config.seed, first, count)


class RandomTally(Record):
    """State of random-and-validation: the permutations drawn, and the best of them."""

    drawn: int = 0  #: permutations drawn; each was judged on every validation row
    best: int | None = None  #: number of the best permutation, in the order drawn
    score: Score | None = None
    pool: tuple[int, ...] = ()  #: numbers of the best permutations for an ensemble, best first
    pool_log_probs: StoredLogProbs | None = None  #: `[pool, rows, labels]` on the validation rows


@dataclass(frozen=True)
class RandomSearch:
    """Judges random permutations on the validation rows in batches, and keeps the best by accuracy.

    With `keeps_pool` it also keeps the best few, of which an ensemble is made.
    """

    run: Run
    meter: Meter
    keeps_pool: bool = False

    def steps(self, tally: RandomTally, total: int) -> Iterator[RandomTally]:
        """The tally after each batch, up to `total` permutations."""
        ranker = Ranker(self.meter, self.run.rows.candidates, self._rows)
        while tally.drawn < total:
            batch = draw_random(self.run, tally.drawn, min(BATCH, total - tally.drawn))
            outcomes, first = ranker.judge(batch), tally.drawn
            tally = _count(tally, outcomes)
            if self.keeps_pool:
                tally = self._with_pool(tally, first, outcomes)
            yield tally

    def _with_pool(self, tally: RandomTally, first: int, outcomes: Sequence[Outcome]) -> RandomTally:
        """The tally with the best of its pool and of new permutations, under the head `prior`."""
        found = [one.judgement.label_log_probs for one in outcomes if isinstance(one, Finished)]
        if tally.pool_log_probs is not None:
            found = [*tally.pool_log_probs.array, *found]
        numbers = (*tally.pool, *range(first, tally.drawn))
        gold = self._rows.gold
        objective: RankingObjective = AccuracyObjective(self.run.dtype)
        if self.run.config.search.objective == "head":
            objective = HeadObjective.of(gold, len(self.run.task.labels), self.run.dtype)
        scores = objective.scores([Judgement(one, gold) for one in found], is_final=True)
        ranked = sorted(range(len(numbers)), key=lambda one: rank_key((numbers[one],), scores[one]))
        places = {draw_random(self.run, numbers[one], 1)[0]: one for one in ranked}
        best = [places[one] for one in pick_pool(list(places), self.run.config)]
        return tally.model_copy(
            update={
                "pool": tuple(numbers[one] for one in best),
                "pool_log_probs": StoredLogProbs.of(np.array([found[one] for one in best])),
            }
        )

    @property
    def _rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.validation)


def _count(tally: RandomTally, outcomes: Sequence[Outcome]) -> RandomTally:
    """The tally after more permutations. If scores are equal, the permutation drawn first is the best."""
    scores = {tally.drawn + place: one.score for place, one in enumerate(outcomes) if isinstance(one, Finished)}
    if tally.best is not None and tally.score is not None:
        scores[tally.best] = tally.score
    best = min(scores, key=lambda number: rank_key((number,), scores[number]))
    return tally.model_copy(update={"drawn": tally.drawn + len(outcomes), "best": best, "score": scores[best]})


def draw_pool(run: Run, tally: RandomTally) -> tuple[Permutation, ...]:
    """The permutations of the tally's pool, best first."""
    return tuple(draw_random(run, number, 1)[0] for number in tally.pool)


class FixedChoice(Method[None]):
    """A method that judges no permutations: its choice is known before the run."""

    @abstractmethod
    def choice(self, state: None) -> Permutation: ...

    def price(self) -> dict[Phase, Cost]:
        return {}

    def start(self) -> None:
        return None

    def steps(self, state: None, _meter: Meter) -> Iterator[None]:
        yield state

    def fallback(self, state: None, _reason: StopReason) -> Permutation:
        return self.choice(state)

    def pack(self, _state: None) -> PackedState:
        return PackedState()

    def unpack(self, _packed: PackedState) -> None:
        return None


class ZeroShot(FixedChoice):
    """No demonstrations."""

    @property
    def num_demonstrations(self) -> int:
        return 0

    def choice(self, _state: None) -> Permutation:
        return ()


class RandomChoice(FixedChoice):
    """One random permutation; an ensemble takes the next ones too."""

    def choice(self, _state: None) -> Permutation:
        return draw_random(self.run, 0, 1)[0]

    @property
    def num_prompts(self) -> int:
        return self.run.config.classifier.max_prompts

    def findings(self, _state: None) -> Findings:
        return Findings(pool=tuple(draw_random(self.run, 0, self.run.config.classifier.max_prompts)))


class RandomAndValidation(Method[RandomTally]):
    """The best of many random permutations, judged on the validation rows."""

    @property
    def num_permutations(self) -> int:
        """`random_search.permutations`, or as many as take the (permutation, row) pairs of a full LENS search."""
        config, rows = self.run.config, self.run.rows
        return config.random_search.permutations or self.run.prices.rival_permutations(
            count_pairs(config.search, len(rows.validation)), config.search.beam_width if rows.confirmation else 0
        )

    @property
    def num_prompts(self) -> int:
        return self.run.config.classifier.max_prompts

    @property
    def judges_prompts(self) -> bool:
        return self._keeps_pool

    def price(self) -> dict[Phase, Cost]:
        return {Phase.SEARCH: self.run.prices.validating(self.num_permutations)}

    def first_step(self) -> FirstStep:
        return FirstStep("a first permutation", self.run.prices.validating(1))

    def start(self) -> RandomTally:
        return RandomTally()

    def steps(self, state: RandomTally, meter: Meter) -> Iterator[RandomTally]:
        meter.enter(Phase.SEARCH, 1, 1)
        return RandomSearch(self.run, meter, keeps_pool=self._keeps_pool).steps(state, self.num_permutations)

    def choice(self, state: RandomTally) -> Permutation | None:
        return None if state.best is None else draw_random(self.run, state.best, 1)[0]

    def fallback(self, _state: RandomTally, reason: StopReason) -> Permutation:
        """The first random permutation, if the budget ended before the first batch was judged."""
        if reason is not StopReason.BUDGET:
            raise NothingSelected(reason)
        return draw_random(self.run, 0, 1)[0]

    def findings(self, state: RandomTally) -> Findings:
        total, choice = self.num_permutations, self.choice(state)
        is_short = (f"the search ended after {state.drawn} of {total} random permutations",)
        return Findings(
            finalists=() if choice is None else (choice,),
            scores=() if state.score is None else (state.score,),
            num_judged=state.drawn,
            warnings=is_short if state.drawn < total else (),
            pool=draw_pool(self.run, state),
            pool_log_probs=None if state.pool_log_probs is None else state.pool_log_probs.array,
        )

    @property
    def _keeps_pool(self) -> bool:
        return self.run.config.classifier.max_prompts > 1

    def pack(self, state: RandomTally) -> PackedState:
        return PackedState(state.model_dump(mode="json"))

    def unpack(self, packed: PackedState) -> RandomTally:
        return RandomTally.model_validate(packed.values)
