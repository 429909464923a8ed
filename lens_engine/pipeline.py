"""The paper's abstract as code: filter, search, evaluate."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from lens_engine import __version__
from lens_engine.config import SelectionConfig, resolve_config
from lens_engine.errors import CheckpointForeign, InvalidConfig, NothingSelected
from lens_engine.judging.judgement import EvaluationRows
from lens_engine.judging.race import Incumbents
from lens_engine.judging.ranker import Placing, Ranker
from lens_engine.language_model.fine_tuning.evidence import FineTuner
from lens_engine.metering.meter import Meter, Stopped
from lens_engine.metering.progress import SelectionListener, SilentListener
from lens_engine.methods.choosing import BaselineChooser
from lens_engine.methods.lens.beam import Neighbourhood, run_iteration, start_search
from lens_engine.methods.lens.diversity import Affinity
from lens_engine.methods.lens.filtering import Filter, FilterState
from lens_engine.methods.permutations import group_by_label
from lens_engine.pricing.estimate import measure_lengths
from lens_engine.pricing.prices import Planner
from lens_engine.randomness import make_generator
from lens_engine.result import SelectionResult
from lens_engine.rows.context import fit_to_context
from lens_engine.rows.problem import Problem, digest_examples
from lens_engine.rows.splits import split_examples
from lens_engine.run.checkpoint import CheckpointStore, MemoryCheckpointStore
from lens_engine.run.evaluation import Assessor
from lens_engine.run.result_builder import Findings, build_result
from lens_engine.run.state import Assessment, RandomTally, RunState
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import Example, Permutation, Phase, StopReason

__all__ = ["Problem", "select_support_examples"]


def select_support_examples(
    problem: Problem,
    scorer: LabelScorer,
    config: SelectionConfig | None = None,
    *,
    listener: SelectionListener | None = None,
    checkpoints: CheckpointStore | None = None,
    fine_tuner: FineTuner | None = None,
) -> SelectionResult:
    """Find the support examples of a task: the ordered demonstrations that make `scorer` classify best.

    Without a `config` it is the preset "standard".

    A run that finds a checkpoint of its own goes on from there, and returns the same digest as one
    that never stopped. A budget or a cancel ends it early with the best so far (`partial`).

    With another `config.method` than "lens" the same rows are split and judged in the same way, and only the choice is
    another's: a rival of the paper's table. `fine_tuner` is for those that choose by a fine-tuned model.

    Raises:
        InvalidDataset, ClassTooSmall: the examples cannot fill the splits or the quotas.
        InvalidConfig: options contradict each other, the budget cannot pay for a first result, or a coreset method
            has no `fine_tuner`.
        PromptTooLong: a prompt may not fit, and `config.too_long` is "reject".
        CheckpointForeign: the checkpoint belongs to other data, options, model or engine version.
        CheckpointDamaged: from the store.
        NonFiniteScore: the model gave NaN or an infinity.
        NothingSelected: stopped before there was a permutation.
    """
    run = _Run(problem, scorer, config or resolve_config(), listener or SilentListener(), fine_tuner)
    run.resume(checkpoints or MemoryCheckpointStore())
    stop_reason = run.search_within_budget()
    if stop_reason is not StopReason.CANCELLED:
        stop_reason = run.assess(stop_reason)
    return run.result(stop_reason)


class _Run:
    """One run: its splits, its state, and the steps that advance it, each followed by a checkpoint."""

    def __init__(
        self,
        problem: Problem,
        scorer: LabelScorer,
        config: SelectionConfig,
        listener: SelectionListener,
        fine_tuner: FineTuner | None,
    ) -> None:
        self.problem, self.scorer, self.config = problem, scorer, config
        self.task = problem.task
        self.fitted = fit_to_context(split_examples(problem, config), self.task, scorer, config)
        self.planner = Planner(self.fitted.rows, config, measure_lengths(self.fitted.rows, self.task, scorer))
        self.fingerprint = _fingerprint(problem, config, scorer)
        self.meter = Meter(
            scorer=scorer,
            label_spans=self.task.label_spans,
            listener=listener,
            budget=config.budget,
            planned=self.planner.estimate().total,
            reserve=self.planner.testing(),
        )
        self.baseline = BaselineChooser(self.task, config, self.planner, self.meter, fine_tuner)
        self.baseline.check()
        self._check_budget()

    def resume(self, store: CheckpointStore) -> None:
        """Take up the store's checkpoint, or start afresh where it has none."""
        self.store = store
        self.state = RunState.start(len(self.fitted.rows.candidates))
        checkpoint = store.load()
        if checkpoint is None:
            return
        if checkpoint.fingerprint != self.fingerprint:
            raise CheckpointForeign("the checkpoint belongs to other data, options, model or engine version")
        self.state = RunState.from_checkpoint(checkpoint)
        self.meter.resume(self.state.spent, self.state.seconds, self.state.pairs_from_cache)
        self._show_best()

    def search_within_budget(self) -> StopReason:
        """Stages 1 and 2, or another method's choice, until it is done, the budget is used up, or a stop is asked for.

        A resumed run whose evaluation has begun does not search on, whatever its budget is now: what
        was evaluated would no longer be what was found.
        """
        if self.state.assessment.done:
            return StopReason.COMPLETED if self._is_searched() else StopReason.BUDGET
        try:
            if self.config.method == "lens":
                self._filter()
                self._search()
            else:
                self._choose()
        except Stopped as stopped:
            self._keep_best_so_far(stopped.reason)
            return stopped.reason
        return StopReason.COMPLETED

    def assess(self, stop_reason: StopReason) -> StopReason:
        """The evaluation phase; returns why the run as a whole ended."""
        assessor = Assessor(self.task, self.config, self.planner, self.meter, self.survivors, self.state.search)
        try:
            assessor.run(self.state.assessment, self._save_assessment)
        except Stopped as stopped:
            return stopped.reason
        if self.state.assessment.skipped:
            return StopReason.BUDGET
        return stop_reason

    def result(self, stop_reason: StopReason) -> SelectionResult:
        findings = Findings(
            self.problem,
            self.config,
            self.fitted,
            self.state,
            self.scorer,
            self.meter.seconds,
            self.planner.random_permutations,
        )
        return build_result(findings, stop_reason)

    def _filter(self) -> None:
        rounds = self.planner.rounds
        for number, plan in enumerate(rounds, start=1):
            if number > self.state.filtering.rounds_done:
                self.meter.enter(Phase.FILTER, number, len(rounds))
                filtering = self._stage.run_round(self.state.filtering, plan, self.meter)
                self._advance(replace(self.state, filtering=filtering), Phase.FILTER, number)

    def _search(self) -> None:
        neighbourhood, iterations = self._neighbourhood(), self.config.search.iterations
        search = self.state.search
        if search is None:
            self.meter.enter(Phase.INITIALISE, 1, 1)
            initial = neighbourhood.initial_permutations(make_generator(self.config.seed, "initialise"))
            search = start_search(initial, self._judge, self.config.search.beam_width)
            self._advance(replace(self.state, search=search), Phase.INITIALISE, 1)
        for iteration in range(search.iterations_done, iterations):
            self.meter.enter(Phase.SEARCH, iteration + 1, iterations)
            rng = make_generator(self.config.seed, "search", iteration)
            search = run_iteration(search, neighbourhood, self._judge, rng)
            self._advance(replace(self.state, search=search), Phase.SEARCH, iteration + 1)

    def _choose(self) -> None:
        if self.state.assessment.chosen is None:
            chosen = self.baseline.choose(self.state.assessment.rivals, self._save_tally)
            self._keep(chosen)
            self._advance(self.state, self.meter.phase, 1)

    def _save_tally(self, tally: RandomTally) -> None:
        assessment = self.state.assessment.model_copy(update={"rivals": tally})
        self._advance(replace(self.state, assessment=assessment), Phase.SEARCH, 1)

    def _keep(self, chosen: Permutation) -> None:
        self.state = replace(self.state, assessment=self.state.assessment.model_copy(update={"chosen": chosen}))

    def _judge(self, permutations: Sequence[Permutation], incumbents: Incumbents, places: int) -> list[Placing]:
        if self.config.search.halvings:
            return self._ranker.halve(permutations, self.config.search.halvings, places)
        return self._ranker.place(permutations, incumbents, places)

    def _is_searched(self) -> bool:
        if self.config.method == "random_and_validation":
            return self.state.assessment.rivals.drawn >= self.planner.random_permutations
        if self.config.method != "lens":
            return True
        search = self.state.search
        return search is not None and search.iterations_done >= self.config.search.iterations

    def _neighbourhood(self) -> Neighbourhood:
        filtering = self.state.filtering
        weight = self.config.search.diversity_weight
        groups, quotas = group_by_label(self.survivors, self.task, self.config)
        affinity = Affinity.from_features(filtering.info_scores, filtering.contributions, weight)
        return Neighbourhood(affinity, groups, quotas, self.config.search)

    @property
    def survivors(self) -> tuple[Example, ...]:
        return self.state.filtering.pick_survivors(self.fitted.rows.candidates)

    @property
    def _ranker(self) -> Ranker:
        rows, config = EvaluationRows(self.task, self.fitted.rows.validation), self.config
        return Ranker(self.meter, self.survivors, rows, config.calibrated_search, config.search.elimination)

    @property
    def _stage(self) -> Filter:
        rows, config = self.fitted.rows, self.config
        return Filter(self.task, rows.candidates, rows.score_set, config.filtering, config.balanced)

    def _keep_best_so_far(self, reason: StopReason) -> None:
        """Without an evaluated permutation, a budget still buys the one that InfoScores speak for, or a random one."""
        if self.state.search is not None:
            return
        if self.config.method == "random_and_validation":
            best = self.state.assessment.rivals.best
            if best is not None or reason is StopReason.BUDGET:
                self._keep(self.baseline.draw(best or 0))
                return
        if reason is StopReason.CANCELLED or not self.state.filtering.rounds_done:
            raise NothingSelected(f"the run was stopped ({reason}) before it had a permutation", stop_reason=reason)
        self._cut_to_keep()
        initial = self._neighbourhood().initial_permutations(make_generator(self.config.seed, "initialise"))
        self._keep(initial[0])

    def _cut_to_keep(self) -> None:
        state = self.state.filtering
        kept = self._stage.rank(state.survivors, state.info_scores, self.config.filtering.keep)
        filtering = FilterState(state.rounds_done, state.survivors[kept], state.contributions[kept])
        self.state = replace(self.state, filtering=filtering)

    def _save_assessment(self, assessment: Assessment, step: int) -> None:
        self._advance(replace(self.state, assessment=assessment), Phase.EVALUATE, step)

    def _advance(self, state: RunState, phase: Phase, step: int) -> None:
        meter = self.meter
        self.state = replace(state, spent=meter.spent, seconds=meter.seconds, pairs_from_cache=meter.pairs_from_cache)
        self._show_best()
        dtype = self.scorer.identity.dtype
        self.store.save(self.state.to_checkpoint(self.fingerprint, dtype, phase, step))

    def _show_best(self) -> None:
        search, random_best = self.state.search, self.state.assessment.rivals.standing
        if search is not None:
            self.meter.best_validation_accuracy = search.standings[search.best].accuracy
        elif random_best is not None:
            self.meter.best_validation_accuracy = random_best.accuracy

    def _check_budget(self) -> None:
        limit = self.config.budget.max_forwards
        least = self.planner.first_step.forwards + self.planner.testing().forwards
        if limit is not None and limit < least:
            step = "the first round of filtering" if self.config.method == "lens" else "a first permutation"
            raise InvalidConfig(
                f"max_forwards is {limit}, and {step} with the test rows takes {least}; "
                "raise it, or lower filtering.candidates or splits.test",
                field="options.budget.max_forwards",
            )


def _fingerprint(problem: Problem, config: SelectionConfig, scorer: LabelScorer) -> str:
    """What a checkpoint must share with a run; the budget may change between attempts."""
    identity = scorer.identity
    content = {
        "lens": __version__,
        "examples": digest_examples(problem.examples),
        "test": None if problem.test is None else digest_examples(problem.test),
        "template": problem.task.template.pattern,
        "words": list(problem.task.verbalizer.words.items()),
        "separator": problem.task.separator,
        "config": config.model_dump(mode="json", exclude={"budget"}),
        "model": [identity.model, identity.revision, identity.dtype, identity.device, identity.executor],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
