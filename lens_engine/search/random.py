"""The methods without a search: no demonstrations, one random permutation, the best of many random permutations.

Li & Qiu (2023), section 4.1. Random-and-validation is the strongest rival, so the evaluation of a LENS
run includes it too (`RandomSearch`).
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from lens_engine.config import Use
from lens_engine.errors import NothingSelected
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.search.base import Findings, FirstStep, Method, PackedState, Run
from lens_engine.search.judgement import EvaluationRows, Judgement, judge
from lens_engine.search.objective import RankingObjective, make_objective
from lens_engine.search.permutations import draw_permutations
from lens_engine.search.score import Score, rank_key
from lens_engine.types import LabelLogProbs, Permutation, Phase, Record, StopReason, StoredLogProbs

BATCH = 8
"""Number of random permutations judged between two checkpoints."""


def draw_random(run: Run, first: int, count: int) -> list[Permutation]:
    """Random permutations `first` to `first + count` (exclusive) of a run's candidates."""
    return draw_permutations(run.rows.candidates, run.task, run.rows.quotas, run.config.seed, first, count)


class RandomTally(Record):
    """State of random-and-validation: the permutations drawn, and the best of them for each use."""

    drawn: int = 0  #: permutations drawn; each was judged on every validation row
    accuracies: tuple[float, ...] = ()  #: of each permutation under the use of the run
    best: dict[Use, int] = Field(default_factory=dict)  #: number of the best permutation, in the order drawn
    scores: dict[Use, Score] = Field(default_factory=dict)
    log_probs: dict[Use, StoredLogProbs] = Field(default_factory=dict)  #: `[rows, labels]` on the validation rows


@dataclass(frozen=True)
class RandomSearch:
    """Judges random permutations on the validation rows in batches, and keeps the best for each use."""

    run: Run
    meter: Meter

    def steps(self, tally: RandomTally, total: int) -> Iterator[RandomTally]:
        """The tally after each batch, up to `total` permutations."""
        rows = EvaluationRows(self.run.task, self.run.rows.validation)
        objectives = {use: make_objective(self.run.config, rows, self.run.dtype, use) for use in self.run.uses}
        while tally.drawn < total:
            batch = draw_random(self.run, tally.drawn, min(BATCH, total - tally.drawn))
            judged = judge(self.meter, self.run.task.render_permutations(self.run.rows.candidates, batch), rows)
            tally = _count(tally, judged, objectives, self.run.config.use)
            yield tally


def _count(
    tally: RandomTally, judged: Sequence[Judgement], objectives: Mapping[Use, RankingObjective], use: Use
) -> RandomTally:
    """The tally after more permutations. If scores are equal, the permutation drawn first is the best."""
    best, scores, log_probs = dict(tally.best), dict(tally.scores), dict(tally.log_probs)
    accuracies = tally.accuracies
    for name, objective in objectives.items():
        found = objective.scores(judged, is_final=True)
        place = min(range(len(found)), key=lambda one: rank_key((one,), found[one]))
        number = tally.drawn + place
        if name not in best or rank_key((number,), found[place]) < rank_key((best[name],), scores[name]):
            best[name], scores[name] = number, found[place]
            log_probs[name] = StoredLogProbs.of(judged[place].label_log_probs)
        if name == use:
            accuracies = (*accuracies, *(score.accuracy for score in found))
    return RandomTally(
        drawn=tally.drawn + len(judged), accuracies=accuracies, best=best, scores=scores, log_probs=log_probs
    )


def find_best(run: Run, tally: RandomTally) -> dict[Permutation, LabelLogProbs]:
    """The best permutation of each use, that of the run first, with its log-probabilities on the validation rows."""
    uses = sorted(tally.best, key=lambda use: use != run.config.use)
    return {draw_random(run, tally.best[use], 1)[0]: tally.log_probs[use].array for use in uses}


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
    """One random permutation."""

    def choice(self, _state: None) -> Permutation:
        return draw_random(self.run, 0, 1)[0]


class RandomAndValidation(Method[RandomTally]):
    """The best of many random permutations, judged on the validation rows."""

    @property
    def num_permutations(self) -> int:
        """`random_search.permutations`, or as many as the cost of LENS pays for, all of its steps included."""
        prices = self.run.prices
        return self.run.config.random_search.permutations or prices.rival_permutations(prices.lens)

    @property
    def num_finalists(self) -> int:
        return len(self.run.uses)

    @property
    def judges_finalists(self) -> bool:
        return True

    def price(self) -> dict[Phase, Cost]:
        return {Phase.SEARCH: self.run.prices.validating(self.num_permutations)}

    def first_step(self) -> FirstStep:
        return FirstStep("a first set of examples", self.run.prices.validating(1))

    def start(self) -> RandomTally:
        return RandomTally()

    def steps(self, state: RandomTally, meter: Meter) -> Iterator[RandomTally]:
        meter.enter(Phase.SEARCH, 1, 1)
        return RandomSearch(self.run, meter).steps(state, self.num_permutations)

    def choice(self, state: RandomTally) -> Permutation | None:
        number = state.best.get(self.run.config.use)
        return None if number is None else draw_random(self.run, number, 1)[0]

    def fallback(self, _state: RandomTally, reason: StopReason) -> Permutation:
        """The first random permutation, if the budget ended before the first batch was judged."""
        if reason is not StopReason.BUDGET:
            raise NothingSelected(reason)
        return draw_random(self.run, 0, 1)[0]

    def findings(self, state: RandomTally) -> Findings:
        total, found = self.num_permutations, find_best(self.run, state)
        is_short = (f"the search ended after {state.drawn} of {total} random sets of examples",)
        best = state.scores.get(self.run.config.use)
        return Findings(
            finalists=tuple(found),
            log_probs=np.array(list(found.values())) if found else None,
            num_judged=state.drawn,
            best_accuracy=None if best is None else best.accuracy,
            warnings=is_short if state.drawn < total else (),
        )

    def pack(self, state: RandomTally) -> PackedState:
        return PackedState(state.model_dump(mode="json"))

    def unpack(self, packed: PackedState) -> RandomTally:
        return RandomTally.model_validate(packed.values)
