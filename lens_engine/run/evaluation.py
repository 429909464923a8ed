"""The evaluation phase: confirm the finalists, judge the choice on the test rows, compare it with the baselines.

A checkpoint follows each step. Confirmation and test come first. A later step that the budget does not cover
is left out, and a warning names it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from lens_engine.classifier.tested import ClassifierName
from lens_engine.judging.judgement import EvaluationRows, Judgement, judge, spread
from lens_engine.judging.score import Score, pool, rank_key
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter, Stopped
from lens_engine.methods.base import Findings, Method, Run
from lens_engine.methods.permutations import shuffle
from lens_engine.methods.random import RandomSearch, draw_random
from lens_engine.plan.comparisons import COMPARISONS
from lens_engine.randomness import make_generator
from lens_engine.result import RandomAndValidation
from lens_engine.run.classifying import Classifying
from lens_engine.run.evaluation_price import price_ensemble, reserve_for_ensemble
from lens_engine.run.prompt_sets import PromptSet, PromptSets
from lens_engine.run.state import Evaluation
from lens_engine.types import Permutation, Phase, StopReason

_NEEDS_FINALISTS = frozenset({"confirmation", "random_and_validation", "random_ensemble", "random_prompts"})

Save = Callable[[Evaluation], None]


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    cost: Cost
    run: Callable[[Evaluation, Save], Evaluation]


@dataclass(frozen=True)
class Evaluator:
    """Runs the remaining steps of the evaluation."""

    run: Run
    meter: Meter
    method: Method[Any]
    findings: Findings
    chosen: Permutation  #: the method's choice, before confirmation

    def evaluate(self, evaluation: Evaluation, save: Callable[[Evaluation, int], None]) -> None:
        """Do each remaining step, and call `save` after it.

        Raises:
            Stopped: the run was cancelled; the evaluation saved last stays valid.
        """
        steps = self._steps(evaluation)
        for number, step in enumerate(steps, start=1):
            if step.name not in evaluation.done:
                self.meter.enter(Phase.EVALUATE, number, len(steps))
                evaluation = self._take(step, evaluation, partial(_save_within, save, number))
                save(evaluation, number)

    def _take(self, step: _Step, evaluation: Evaluation, save: Save) -> Evaluation:
        """Do a step, or add it to `skipped` if the budget does not cover it.

        The test step ignores the budget. So do the test rows of the classifier; its fit rows do not.
        """
        self.meter.reserve = self._reserve(step, evaluation)
        if step.name == "test":
            with self.meter.beyond_budget():
                return step.run(evaluation, save).after(step.name)
        if step.name == "ensemble":
            return step.run(evaluation, save).after(step.name)
        if not self._can_take(step, evaluation):
            return evaluation.after(step.name, is_skipped=True)
        try:
            return step.run(evaluation, save).after(step.name)
        except Stopped as stopped:
            if stopped.reason is not StopReason.BUDGET:
                raise
            return evaluation.after(step.name, is_skipped=True)

    def _can_take(self, step: _Step, evaluation: Evaluation) -> bool:
        lacks_finalists = step.name in _NEEDS_FINALISTS and not self.findings.finalists
        lacks_pool = step.name == "random_ensemble" and "random_and_validation" in evaluation.skipped
        return not lacks_finalists and not lacks_pool and self.meter.affords(step.cost)

    def _steps(self, evaluation: Evaluation) -> list[_Step]:
        """The steps that the options ask for, in order of importance, each with the cost of its remaining work."""
        prices, asked = self.run.prices, COMPARISONS[self.run.config.comparisons].names
        num_finalists = self.method.num_finalists
        wanted = {
            "confirmation": bool(self.run.rows.confirmation) and num_finalists > 0,
            "ensemble": not self._classifies_alone,
            "zero_shot": "zero_shot" in asked,
            "bag_of_words": "bag_of_words" in asked,
            "random": "random" in asked,
            "random_and_validation": "random_and_validation" in asked and self.method.planned_pairs is not None,
            "order": "order" in asked and len(self.chosen) > 0,
        }
        prompt_sets = self._prompt_sets(num_finalists)
        left = prompt_sets.num_random - evaluation.rival.drawn if self.findings.finalists else 0
        rivals = [_Step(name, prompt_sets.price(name), partial(self._rival, name)) for name in prompt_sets.wanted]
        steps = [
            _Step("confirmation", prices.confirming(num_finalists), self._confirm),
            _Step("test", prices.testing(self.method.num_demonstrations), self._test),
            _Step("ensemble", price_ensemble(self.run, self.method), self._ensemble),
            _Step("zero_shot", prices.testing(demonstrations=0), self._zero_shot),
            _Step("bag_of_words", Cost(), self._bag_of_words),
            _Step("random_and_validation", prices.rivalling(left), self._random_and_validation),
            *rivals,
            _Step(
                "random", prices.comparing(COMPARISONS[self.run.config.comparisons].random_permutations), self._random
            ),
            _Step("order", prices.comparing(COMPARISONS[self.run.config.comparisons].orders), self._order),
        ]
        return [step for step in steps if wanted.get(step.name, True)]

    def _confirm(self, evaluation: Evaluation, _: Save) -> Evaluation:
        """Judge the finalists on the confirmation rows; choose the best on validation and confirmation rows."""
        finalists, rows = self.findings.finalists, EvaluationRows(self.run.task, self.run.rows.confirmation)
        judgements = self._judge(finalists, rows)
        scores = tuple(
            pool(score, Score.of(judgement, self.meter.scorer.identity.dtype))
            for score, judgement in zip(self.findings.scores, judgements, strict=True)
        )
        best = min(range(len(scores)), key=lambda index: rank_key(finalists[index], scores[index]))
        return evaluation.model_copy(
            update={"chosen": finalists[best], "confirmation": judgements[best].figure(), "pooled_scores": scores}
        )

    def _test(self, evaluation: Evaluation, _: Save) -> Evaluation:
        chosen = self._final_choice(evaluation)
        judgement = self._judge([chosen], self._test_rows)[0]
        evaluation = evaluation.model_copy(update={"chosen": chosen, "test": judgement.figure()})
        if not self._classifies_alone:
            return self._with_single(evaluation, "support_examples", chosen, judgement)
        classifier, correct, frontier = self._classifying.test_single(chosen, judgement)
        return evaluation.with_classifier("ensemble", classifier, correct, frontier=frontier)

    def _ensemble(self, evaluation: Evaluation, _: Save) -> Evaluation:
        """The ensemble of the method's permutations; without a budget for fit rows, on the rows judged before."""
        prompts = self._make("ensemble", evaluation)
        can_afford = self.meter.affords(self._prompt_sets(evaluation.num_confirmed).price("ensemble"))
        try:
            tested = self._classifying.test(prompts, scores_fit_rows=can_afford)
        except Stopped as stopped:
            if stopped.reason is not StopReason.BUDGET:
                raise
            can_afford, tested = False, self._classifying.test(prompts, scores_fit_rows=False)
        return evaluation.with_classifier(
            "ensemble", tested.classifier, tested.correct, frontier=tested.frontier, is_fit_short=not can_afford
        )

    def _rival(self, name: ClassifierName, evaluation: Evaluation, _: Save) -> Evaluation:
        prompts = self._make(name, evaluation)
        if name == "long_prompt":
            prompts = self._prompt_sets(evaluation.num_confirmed).fit_to_context(prompts, self.meter)
        tested = self._classifying.test(prompts)
        return evaluation.with_classifier(name, tested.classifier, tested.correct)

    def _make(self, name: ClassifierName, evaluation: Evaluation) -> PromptSet:
        chosen, prompt_sets = self._final_choice(evaluation), self._prompt_sets(evaluation.num_confirmed)
        return prompt_sets.make(name, self.findings, chosen, evaluation.rival)

    def _bag_of_words(self, evaluation: Evaluation, _: Save) -> Evaluation:
        tested = self._classifying.test_bag_of_words()
        return evaluation.with_classifier("bag_of_words", tested.classifier, tested.correct)

    def _zero_shot(self, evaluation: Evaluation, _: Save) -> Evaluation:
        return self._with_single(evaluation, "zero_shot", ())

    def _random(self, evaluation: Evaluation, _: Save) -> Evaluation:
        permutations = draw_random(self.run, 0, COMPARISONS[self.run.config.comparisons].random_permutations)
        return evaluation.model_copy(update={"random": spread(self._judge(permutations, self._comparison_rows))})

    def _random_and_validation(self, evaluation: Evaluation, save: Save) -> Evaluation:
        """Random-and-validation, with as many (permutation, row) pairs as the method and its confirmation."""
        prompt_sets = self._prompt_sets(evaluation.num_confirmed)
        search = RandomSearch(self.run, self.meter, keeps_pool="random_ensemble" in prompt_sets.wanted)
        for tally in search.steps(evaluation.rival, prompt_sets.num_random):
            evaluation = evaluation.model_copy(update={"rival": tally})
            save(evaluation)
        return self._test_rival(evaluation)

    def _test_rival(self, evaluation: Evaluation) -> Evaluation:
        tally = evaluation.rival
        if tally.best is None or tally.score is None:
            raise RuntimeError("no random permutation was judged")
        permutation = draw_random(self.run, tally.best, 1)[0]
        rival = RandomAndValidation(
            validation_accuracy=tally.score.accuracy,
            permutations=tally.drawn,
            rows=tuple(self.run.rows.candidates[index].row for index in permutation),
        )
        evaluation = evaluation.model_copy(update={"random_and_validation": rival})
        return self._with_single(evaluation, "random_and_validation", permutation)

    def _order(self, evaluation: Evaluation, _: Save) -> Evaluation:
        config, members = self.run.config, self._final_choice(evaluation)
        shuffles = [
            shuffle(members, make_generator(config.seed, "order", index))
            for index in range(COMPARISONS[self.run.config.comparisons].orders)
        ]
        return evaluation.model_copy(update={"order": spread(self._judge(shuffles, self._comparison_rows))})

    def _final_choice(self, evaluation: Evaluation) -> Permutation:
        return self.chosen if evaluation.chosen is None else evaluation.chosen

    def _judge(self, permutations: Sequence[Permutation], rows: EvaluationRows) -> list[Judgement]:
        return judge(self.meter, self.run.task.render_permutations(self.run.rows.candidates, permutations), rows)

    @cached_property
    def _test_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.test)

    @cached_property
    def _comparison_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.test[: self.run.prices.comparison_rows])

    def _reserve(self, step: _Step, evaluation: Evaluation) -> Cost:
        """What a step leaves for the test rows of the single prompt and of the classifier's prompts."""
        if step.name == "ensemble" or "ensemble" in evaluation.done:
            return Cost()
        testing = Cost() if "test" in evaluation.done else self.run.prices.testing(self.method.num_demonstrations)
        return testing + reserve_for_ensemble(self.run, self.method)

    def _with_single(
        self, evaluation: Evaluation, name: ClassifierName, permutation: Permutation, judged: Judgement | None = None
    ) -> Evaluation:
        judgement = judged or self._judge([permutation], self._test_rows)[0]
        tested = self._classifying.test_single(permutation, judgement)
        return evaluation.with_classifier(name, tested.classifier, tested.correct)

    def _prompt_sets(self, num_confirmed: int) -> PromptSets:
        return PromptSets(self.run, self.method, self.findings.charged_pairs, num_confirmed)

    @property
    def _classifies_alone(self) -> bool:  # the classifier is the single prompt with the paper's head
        return self._prompt_sets(0).is_paper

    @cached_property
    def _classifying(self) -> Classifying:
        return Classifying(self.run, self.meter, self._test_rows)


def _save_within(save: Callable[[Evaluation, int], None], number: int, evaluation: Evaluation) -> None:
    """Save within a step: the number of finished steps is `number - 1`."""
    save(evaluation, number - 1)
