"""The evaluation phase: choose among the last beam, judge on fresh test rows, compare with the rivals.

Each step is checkpointed. Confirmation and test come first; what the budget does not cover after them
is left out and named.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.judging.judgement import EvaluationRows, Judgement, compare, judge, spread
from lens_engine.judging.score import pool, rank_key, stand
from lens_engine.metering.meter import Meter, Stopped
from lens_engine.methods.lens.beam import SearchState
from lens_engine.methods.permutations import render_permutations, shuffle
from lens_engine.methods.random_permutations import RandomPermutations
from lens_engine.methods.random_search import RandomSearch
from lens_engine.pricing.prices import Cost, Planner
from lens_engine.randomness import make_generator
from lens_engine.result import RandomAndValidation, Record
from lens_engine.run.state import Assessment, RandomTally
from lens_engine.scoring.base import Prefix
from lens_engine.task.template import Task
from lens_engine.types import Example, Permutation, Phase, StopReason

_NEEDS_SEARCH = frozenset({"confirmation", "random_and_validation"})

Save = Callable[[Assessment], None]


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    cost: Cost
    run: Callable[[Assessment, Save], Assessment]


@dataclass(frozen=True)
class Assessor:
    """Runs the steps of the evaluation that are still to do."""

    task: Task
    config: SelectionConfig
    planner: Planner
    meter: Meter
    survivors: tuple[Example, ...]
    search: SearchState | None  #: None with another method, or when the run was stopped before a permutation

    def run(self, assessment: Assessment, save: Callable[[Assessment, int], None]) -> None:
        """Do each step and `save` its outcome.

        Raises:
            Stopped: cancelled; what was saved holds.
        """
        steps = self._steps(assessment)
        for number, step in enumerate(steps, start=1):
            if step.name not in assessment.done:
                self.meter.enter(Phase.EVALUATE, number, len(steps))
                assessment = self._take(step, assessment, partial(_save_within, save, number))
                save(assessment, number)

    def _take(self, step: _Step, assessment: Assessment, save: Save) -> Assessment:
        """Do a step, or leave it out and say so. The test rows are judged whatever the budget says."""
        self.meter.reserve = Cost() if "test" in assessment.done else self.planner.testing()
        if step.name == "test":
            with self.meter.beyond_budget():
                return _mark_done(step.run(assessment, save), step.name)
        if not self._can_take(step):
            return _mark_skipped(assessment, step.name)
        try:
            return _mark_done(step.run(assessment, save), step.name)
        except Stopped as stopped:
            if stopped.reason is not StopReason.BUDGET:
                raise
            return _mark_skipped(assessment, step.name)

    def _can_take(self, step: _Step) -> bool:
        if self.search is None and step.name in _NEEDS_SEARCH:
            return False
        return self.meter.affords(step.cost)

    def _steps(self, assessment: Assessment) -> list[_Step]:
        """The steps asked for, with the cost of what is left of each, in order of importance."""
        report, planner, search = self.config.report, self.planner, self.search
        drawn = assessment.rivals.drawn
        rivals = planner.rivalling(self._num_rivals(self.config.search.beam_width) - drawn) if search else Cost()
        wanted = {
            "confirmation": bool(planner.rows.confirmation) and self.config.method == "lens",
            "random": report.random_permutations > 0,
            "random_and_validation": self.config.has_rival,
            "order": report.order_shuffles > 0 and assessment.chosen != (),
        }
        steps = [
            _Step("confirmation", planner.confirming(), self._confirm),
            _Step("test", planner.testing(), self._test),
            _Step("zero_shot", planner.testing(demonstrations=0), self._zero_shot),
            _Step("random", planner.comparing(report.random_permutations), self._random),
            _Step("random_and_validation", rivals, self._random_and_validation),
            _Step("order", planner.comparing(report.order_shuffles), self._order),
        ]
        return [step for step in steps if wanted.get(step.name, True)]

    def _confirm(self, assessment: Assessment, _: Save) -> Assessment:
        """Judge the last beam on fresh rows; the best on validation and confirmation rows together wins."""
        search, rows = _known(self.search), self._rows(self.planner.rows.confirmation)
        judgements = self._judge(search.beam, rows, calibrated=self.config.calibrated_search)
        dtype = self.meter.scorer.identity.dtype
        standings = tuple(
            pool(search.standings[permutation], stand(judgement, dtype))
            for permutation, judgement in zip(search.beam, judgements, strict=True)
        )
        best = min(range(len(standings)), key=lambda index: rank_key(search.beam[index], standings[index]))
        return assessment.model_copy(
            update={
                "chosen": search.beam[best],
                "confirmation": judgements[best].figure(),
                "pooled_standings": standings,
            }
        )

    def _test(self, assessment: Assessment, _: Save) -> Assessment:
        chosen = _known(self.search).best if assessment.chosen is None else assessment.chosen
        judgement = self._judge([chosen], self._rows(self.planner.rows.test))[0]
        hits = judgement.hits(calibrated=self.config.calibrated_search)
        correct = tuple(bool(hit) for hit in hits)
        return assessment.model_copy(update={"chosen": chosen, "test": judgement.figure(), "test_correct": correct})

    def _zero_shot(self, assessment: Assessment, _: Save) -> Assessment:
        rows = self._rows(self.planner.rows.test)
        judgement = judge(self.meter, [()], rows, calibrated=self.config.report.calibrated)[0]
        return _with_baselines(assessment, zero_shot=judgement.figure())

    def _random(self, assessment: Assessment, _: Save) -> Assessment:
        permutations = self._draw_random(0, self.config.report.random_permutations)
        rows = self._rows(self.planner.rows.test[: self.planner.comparison_rows])
        judgements = judge(
            self.meter, self._candidate_prefixes(permutations), rows, calibrated=self.config.report.calibrated
        )
        return _with_baselines(assessment, random=spread(judgements))

    def _random_and_validation(self, assessment: Assessment, save: Save) -> Assessment:
        """As many random permutations as LENS evaluated, in whole or in part, its confirmation counted."""
        # Which rows are hard is known from the beam, which was judged on the same ones.
        search = RandomSearch.over(self.planner, self.task, self.meter, _known(self.search).margins)
        total = self._num_rivals(assessment.confirmed)
        tally = search.run(assessment.rivals, total, lambda tally: save(_with_rivals(assessment, tally)))
        return self._test_rival(_with_rivals(assessment, tally))

    def _test_rival(self, assessment: Assessment) -> Assessment:
        rivals = assessment.rivals
        if rivals.best is None or rivals.standing is None:
            raise RuntimeError("no random permutation was judged")
        permutation = self._draw_random(rivals.best, 1)[0]
        test_rows = self._rows(self.planner.rows.test)
        prefixes = self._candidate_prefixes([permutation])
        judgement = judge(self.meter, prefixes, test_rows, calibrated=self.config.report.calibrated)[0]
        rival = RandomAndValidation(
            validation_accuracy=rivals.standing.accuracy,
            test=judgement.figure(),
            permutations=rivals.drawn,
            rows=tuple(self.planner.rows.candidates[index].row for index in permutation),
        )
        rival_correct = judgement.hits(calibrated=self.config.calibrated_search)
        verdict = compare(np.array(assessment.test_correct), rival_correct)
        return _with_baselines(assessment, random_and_validation=rival).model_copy(update={"verdict": verdict})

    def _order(self, assessment: Assessment, _: Save) -> Assessment:
        members = assessment.chosen or ()
        shuffles = [
            shuffle(members, make_generator(self.config.seed, "order", index))
            for index in range(self.config.report.order_shuffles)
        ]
        rows = self._rows(self.planner.rows.test[: self.planner.comparison_rows])
        return assessment.model_copy(update={"order": spread(self._judge(shuffles, rows))})

    def _judge(
        self, permutations: Sequence[Permutation], rows: EvaluationRows, *, calibrated: bool | None = None
    ) -> list[Judgement]:
        """Judge permutations of survivors; calibrated as the report is, unless told."""
        prefixes = render_permutations(self.task, self.survivors, permutations)
        asked = self.config.report.calibrated if calibrated is None else calibrated
        return judge(self.meter, prefixes, rows, calibrated=asked)

    def _candidate_prefixes(self, permutations: Sequence[Permutation]) -> list[Prefix]:
        return render_permutations(self.task, self.planner.rows.candidates, permutations)

    def _draw_random(self, first: int, count: int) -> list[Permutation]:
        return self._random_permutations.draw(first, count)

    @property
    def _random_permutations(self) -> RandomPermutations:
        return RandomPermutations(self.planner.rows, self.task, self.config)

    def _rows(self, examples: tuple[Example, ...]) -> EvaluationRows:
        return EvaluationRows(self.task, examples)

    def _num_rivals(self, confirmed: int) -> int:
        return self.planner.rival_permutations(_known(self.search).charged_pairs, confirmed)


def _known(search: SearchState | None) -> SearchState:
    if search is None:
        raise RuntimeError("no permutation was evaluated")
    return search


def _mark_done(assessment: Assessment, name: str) -> Assessment:
    return assessment.model_copy(update={"done": (*assessment.done, name)})


def _mark_skipped(assessment: Assessment, name: str) -> Assessment:
    return _mark_done(assessment.model_copy(update={"skipped": (*assessment.skipped, name)}), name)


def _save_within(save: Callable[[Assessment, int], None], number: int, assessment: Assessment) -> None:
    """Save in the middle of a step: the step before it is the last finished one."""
    save(assessment, number - 1)


def _with_baselines(assessment: Assessment, **found: Record) -> Assessment:
    return assessment.model_copy(update={"baselines": assessment.baselines.model_copy(update=found)})


def _with_rivals(assessment: Assessment, tally: RandomTally) -> Assessment:
    return assessment.model_copy(update={"rivals": tally})
