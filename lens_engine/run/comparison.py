"""The comparison phase: confirm the finalists, test the support examples, make the classifier, compare with rivals.

A checkpoint follows each step. A later step that the budget does not cover is left out, and a warning names it.
"""

from collections.abc import Callable, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from lens_engine.metering.cost import Cost
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.run.classifying import Classifying
from lens_engine.run.comparison_plan import (
    CONFIRMED,
    FORMS,
    OWED,
    TESTED,
    WORDS,
    count_rivals,
    plan_comparison,
)
from lens_engine.run.forms import FormJudge
from lens_engine.run.single_prompts import SinglePrompts
from lens_engine.run.state import ComparisonState, JudgedPrompt
from lens_engine.search.base import Findings, Method, Run
from lens_engine.search.judgement import EvaluationRows
from lens_engine.search.random import RandomSearch, find_best
from lens_engine.types import LabelLogProbs, Permutation, Phase, StopReason, StoredLogProbs

Save = Callable[[ComparisonState], None]


@dataclass(frozen=True)
class Comparer:
    """Runs the remaining steps of the comparison."""

    run: Run
    meter: Meter
    method: Method[Any]
    findings: Findings
    chosen: Permutation  #: the method's choice, before confirmation
    owed: Set[str] = OWED  #: steps that ignore the budget

    def compare(self, comparison: ComparisonState, save: Callable[[ComparisonState, int], None]) -> None:
        """Do each remaining step, and call `save` after it.

        Raises:
            Stopped: the run was cancelled; the comparison saved last stays valid.
        """
        names = list(plan_comparison(self.run, self.method, comparison))
        for number, name in enumerate(names, start=1):
            if name not in comparison.done:
                steps = plan_comparison(self.run, self.method, comparison)  # by what the choice has cost by now
                self.meter.enter(Phase.EVALUATE, number, len(steps))
                self.meter.limits.reserve = Cost() if TESTED in comparison.done or name == TESTED else steps[TESTED]
                comparison = self._take(name, steps[name], comparison, partial(_save_within, save, number))
                save(comparison, number)

    def _take(self, name: str, cost: Cost, comparison: ComparisonState, save: Save) -> ComparisonState:
        """Do a step, or add it to `skipped` if the budget does not cover it.

        An owed step ignores the budget, but for money that is spent.
        """
        is_owed = name in self.owed
        if not is_owed and not self.meter.affords(cost):
            return comparison.after(name, is_skipped=True)
        try:
            with self.meter.limits.beyond_budget() if is_owed else nullcontext():
                return self._steps[name](comparison, save).after(name)
        except Stopped as stopped:
            if stopped.reason is not StopReason.BUDGET:
                raise
            return comparison.after(name, is_skipped=True)

    @cached_property
    def _steps(self) -> dict[str, Callable[[ComparisonState, Save], ComparisonState]]:
        return {
            CONFIRMED: self._confirm,
            TESTED: self._test,
            FORMS: self._judge_forms,
            "zero_shot": self._judge_zero_shot,
            WORDS: lambda comparison, _: _add(comparison, self._classifying.bag_of_words()),
            "states_zero_shot": lambda comparison, _: _add(comparison, self._classifying.states(())),
            "states_one_prompt": lambda comparison, _: _add(
                comparison, self._classifying.states(self._classifying.prompt)
            ),
            "label_probabilities": lambda comparison, _: _add(comparison, self._classifying.label_probabilities()),
            "random_and_validation": self._search_at_random,
        }

    def _confirm(self, comparison: ComparisonState, _: Save) -> ComparisonState:
        """Judge the finalists, or the method's choice, on the confirmation rows."""
        found, before = self.findings.log_probs, self.meter.spent
        known: dict[Permutation, LabelLogProbs | None] = {self.chosen: None}
        if found is not None:
            known = dict(zip(self.findings.finalists, found, strict=True))
        judged = self._complete(known)
        return comparison.model_copy(update={"judged": judged}).paying(self.meter.spent - before)

    def _complete(self, known: dict[Permutation, LabelLogProbs | None]) -> tuple[JudgedPrompt, ...]:
        """Permutations on validation and confirmation rows, of which the validation rows may be known."""
        found = []
        for permutation, log_probs in known.items():
            rows = self._judging_rows if log_probs is None else self._confirmation_rows
            parts = [] if log_probs is None else [log_probs]
            if len(rows):
                parts.append(self._score([permutation], rows)[0])
            found.append(JudgedPrompt(permutation=permutation, log_probs=StoredLogProbs.of(np.concatenate(parts))))
        return tuple(found)

    def _test(self, comparison: ComparisonState, _: Save) -> ComparisonState:
        """Judge the best prompt for each use on the test rows."""
        return self._with_tested(comparison, [self._prompts(comparison).own(use) for use in self.run.uses])

    def _judge_forms(self, comparison: ComparisonState, _: Save) -> ComparisonState:
        """Judge other forms of the prompt, and test the best of them if it leads the support examples for any use."""
        use, known = self.run.config.use, self._prompts(comparison)
        fixed = known.own_on_validation(use) if self.run.config.search.tries_fixed else None
        judge = FormJudge(self.run, self.meter, known.own(use), fixed)
        before, forms = self.meter.spent, judge.judge()
        comparison = comparison.model_copy(update={"forms": forms}).paying(self.meter.spent - before)
        prompts = self._prompts(comparison)
        if any(prompts.form_leads(use) for use in self.run.uses):
            comparison = comparison.model_copy(update={"forms": (judge.test(forms[0]), *forms[1:])})
        return comparison

    def _judge_zero_shot(self, comparison: ComparisonState, _: Save) -> ComparisonState:
        (judged,) = self._complete({(): None})
        return self._with_tested(comparison.model_copy(update={"zero_shot": judged}), [()])

    def _search_at_random(self, comparison: ComparisonState, save: Save) -> ComparisonState:
        """Random-and-validation, at the cost of the method's choice: its search, the confirmation and the forms."""
        total = count_rivals(self.run, self.method, comparison)
        for tally in RandomSearch(self.run, self.meter).steps(comparison.tally, total):
            comparison = comparison.model_copy(update={"tally": tally})
            save(comparison)
        rivals = self._complete(dict(find_best(self.run, comparison.tally)))
        comparison = comparison.model_copy(update={"rivals": rivals})
        return self._with_tested(comparison, [rival.permutation for rival in rivals])

    def _with_tested(self, comparison: ComparisonState, permutations: Sequence[Permutation]) -> ComparisonState:
        known = {one.permutation for one in comparison.tested}
        new = [one for one in dict.fromkeys(permutations) if one not in known]
        scores = self._score(new, self._test_rows) if new else ()
        tested = tuple(
            JudgedPrompt(permutation=one, log_probs=StoredLogProbs.of(log_probs))
            for one, log_probs in zip(new, scores, strict=True)
        )
        return comparison.model_copy(update={"tested": (*comparison.tested, *tested)})

    def _score(self, permutations: Sequence[Permutation], rows: EvaluationRows) -> LabelLogProbs:
        """`[permutations, rows, labels]`."""
        prefixes = self.run.task.render_permutations(self.run.rows.candidates, permutations)
        return self.meter.score(prefixes, rows.queries)

    def _prompts(self, comparison: ComparisonState) -> SinglePrompts:
        return SinglePrompts(self.run, self.findings, comparison, self.chosen)

    @cached_property
    def _confirmation_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.confirmation)

    @cached_property
    def _judging_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, (*self.run.rows.validation, *self.run.rows.confirmation))

    @cached_property
    def _test_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.test)

    @cached_property
    def _classifying(self) -> Classifying:
        return Classifying(self.run, self.meter)


def _add(comparison: ComparisonState, candidates: Sequence[Any]) -> ComparisonState:
    return comparison.model_copy(update={"candidates": (*comparison.candidates, *candidates)})


def _save_within(save: Callable[[ComparisonState, int], None], number: int, comparison: ComparisonState) -> None:
    """Save within a step: the number of finished steps is `number - 1`."""
    save(comparison, number - 1)
