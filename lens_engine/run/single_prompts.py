"""The single prompts of a run: which is the best for each use, and what it was compared with.

Everything here is read from scores; nothing is scored.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lens_engine.classifier.log_probs import normalise
from lens_engine.classifier.macro_f1 import compare_macro_f1
from lens_engine.classifier.quality import Quality, compare_hits, measure_accuracy, measure_quality
from lens_engine.config import Objective, Use
from lens_engine.result import Comparison, Lead, PromptContender
from lens_engine.retrieval.form import PromptForm
from lens_engine.run.state import ComparisonState
from lens_engine.search.base import Findings, Run
from lens_engine.search.judgement import EvaluationRows, Judgement
from lens_engine.search.lead import find_answers, leads_by_an_error
from lens_engine.search.objective import find_label_biases, make_objective
from lens_engine.search.random import draw_random
from lens_engine.search.rounding import rounding_nats
from lens_engine.search.score import Score, measure_lead, rank_key
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs, Permutation


@dataclass(frozen=True)
class Contender:
    """A prompt under one use."""

    method: str
    permutation: Permutation
    score: Score | None  #: on validation and confirmation rows; None if it was not judged
    biases: FloatArray | None  #: `[labels]`, from the same rows
    tested: LabelLogProbs | None  #: `[test_rows, labels]`
    answers: IndexArray | None = None  #: to the rows of `score`
    form: PromptForm = PromptForm()

    def class_log_probs(self, use: Use) -> FloatArray | None:
        """`[test_rows, labels]`, as production reads them; None if it was not tested or has no biases."""
        biases = np.zeros(1) if use == "prompt" else self.biases
        if self.tested is None or biases is None:
            return None
        return normalise(self.tested.astype(np.float64) + biases)


@dataclass(frozen=True)
class SinglePrompts:
    """What the scores of a run say of its single prompts."""

    run: Run
    findings: Findings
    comparison: ComparisonState
    chosen: Permutation  #: the method's choice, before confirmation
    method: str = ""  #: its name

    def own(self, use: Use) -> Permutation:
        """The best of the method's finalists for this use; the method's choice if none was judged."""
        scores = self._own_scores(use)
        return min(scores, key=lambda one: rank_key(one, scores[one])) if scores else self.chosen

    def contenders(self, use: Use) -> list[Contender]:
        """The prompt of the method, then those that it is compared with."""
        comparison, found = self.comparison, list[Contender]()
        found.append(self._contender(self.method, self.own(use), self._own_log_probs, use))
        if comparison.zero_shot is not None and self.method != "zero_shot":
            found.append(self._contender("zero_shot", (), {(): comparison.zero_shot.log_probs.array}, use))
        if comparison.rivals:
            log_probs = {one.permutation: one.log_probs.array for one in comparison.rivals}
            best = draw_random(self.run, comparison.tally.best[use], 1)[0]
            found.append(self._contender("random_and_validation", best, log_probs, use))
        return [*found, *self._form_contenders(use)]

    def pick(self, use: Use) -> Contender:
        """The prompt to use: the best of the fixed ones, or the form that leads it by more than a standard error.

        Where the options do not try the fixed form, a form needs no lead.
        """
        fixed = self.pick_fixed(use)
        forms = [one for one in self._form_contenders(use) if one.tested is not None]
        return next((one for one in forms if self._may_replace(one, fixed)), fixed)

    def pick_fixed(self, use: Use) -> Contender:
        """The best of the prompts of fixed demonstrations."""
        return pick_answer([one for one in self.contenders(use) if one.form.kind == "fixed"])

    def form_leads(self, use: Use) -> bool:
        """Whether a form leads the best fixed prompt that is known by now, or needs no lead."""
        own = self._contender(self.method, self.own(use), self._own_log_probs, use)
        return any(self._may_replace(one, own) for one in self._form_contenders(use))

    def _form_contenders(self, use: Use) -> list[Contender]:
        """The form that was judged on all rows, if there is one."""
        found = []
        for one in self.comparison.forms:
            if one.log_probs is not None:
                tested = None if one.tested is None else one.tested.array
                found.append(self._make(one.form.kind, one.permutation, one.log_probs.array, tested, use, one.form))
        return found

    def own_on_validation(self, use: Use) -> Judgement | None:
        """The validation rows after the best of the method's finalists for this use; None if it was not judged."""
        log_probs = self._own_log_probs.get(self.own(use))
        return None if log_probs is None else self._judgement(log_probs[: len(self.run.rows.validation)])

    def _may_replace(self, form: Contender, fixed: Contender) -> bool:
        """Whether a form leads fixed demonstrations, or needs no lead."""
        config = self.run.config
        return not config.search.tries_fixed or leads(form, fixed, self._rows.gold, config.objective)

    def lead(self) -> Lead | None:
        """The lead of the method's best over its runner-up, for the use of the run."""
        scores = self._own_scores(self.run.config.use)
        if len(scores) < 2:
            return None
        best, runner_up = sorted(scores, key=lambda one: rank_key(one, scores[one]))[:2]
        return measure_lead(scores[best], scores[runner_up], rounding_nats(self.run.dtype))

    def compare(self, own: Contender, rival: Contender, use: Use) -> Comparison | None:
        """Exact two-sided McNemar test on the test rows where exactly one of the two is right, and macro-F1 on all."""
        found = [one.class_log_probs(use) for one in (own, rival)]
        if any(one is None for one in found):
            return None
        gold, (own_answers, rival_answers) = self.test_rows.gold, (np.asarray(one).argmax(axis=1) for one in found)
        only_own, only_rival, p_value = compare_hits(own_answers == gold, rival_answers == gold)
        return Comparison(
            only_own_right=only_own,
            only_rival_right=only_rival,
            p_value=p_value,
            permutations=self.comparison.tally.drawn,
            **compare_macro_f1(own_answers, rival_answers, gold),
        )

    def measure(self, contender: Contender, use: Use) -> Quality | None:
        """Quality on the test rows."""
        found = contender.class_log_probs(use)
        return None if found is None else measure_quality(found, self.test_rows.gold)

    def show(self, contender: Contender, use: Use) -> PromptContender:
        answers = contender.answers
        return PromptContender(
            method=contender.method,
            form=contender.form,
            rows=tuple(self.run.rows.candidates[index].row for index in contender.permutation),
            judged=None if answers is None else measure_accuracy(answers, self._rows.gold[: len(answers)]),
            test=self.measure(contender, use),
        )

    @cached_property
    def test_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.test)

    @cached_property
    def _own_log_probs(self) -> dict[Permutation, LabelLogProbs]:
        """The method's finalists on the rows on which they were judged."""
        if self.comparison.judged:
            return {one.permutation: one.log_probs.array for one in self.comparison.judged}
        if self.findings.log_probs is None:
            return {}
        return dict(zip(self.findings.finalists, self.findings.log_probs, strict=True))

    def _own_scores(self, use: Use) -> dict[Permutation, Score]:
        return {one: self._score(log_probs, use) for one, log_probs in self._own_log_probs.items()}

    def _contender(
        self, method: str, permutation: Permutation, judged: dict[Permutation, LabelLogProbs], use: Use
    ) -> Contender:
        log_probs = judged.get(permutation)
        tested = {one.permutation: one.log_probs.array for one in self.comparison.tested}
        return self._make(method, permutation, log_probs, tested.get(permutation), use)

    def _make(
        self,
        method: str,
        permutation: Permutation,
        log_probs: LabelLogProbs | None,
        tested: LabelLogProbs | None,
        use: Use,
        form: PromptForm = PromptForm(),  # noqa: B008  frozen
    ) -> Contender:
        biases = self._find_biases(log_probs)
        if log_probs is None:
            return Contender(method, permutation, None, biases, tested, form=form)
        answers = find_answers(self._judgement(log_probs), biases if use == "probabilities" else None)
        return Contender(method, permutation, self._score(log_probs, use), biases, tested, answers, form)

    def _find_biases(self, log_probs: LabelLogProbs | None) -> FloatArray | None:
        if log_probs is None or not self.run.has_probabilities:
            return None
        return find_label_biases(self._judgement(log_probs))

    def _score(self, log_probs: LabelLogProbs, use: Use) -> Score:
        rows = EvaluationRows(self.run.task, self._rows.examples[: len(log_probs)])
        objective = make_objective(self.run.config, rows, self.run.dtype, use)
        return objective.scores([self._judgement(log_probs)], is_final=True)[0]

    def _judgement(self, log_probs: LabelLogProbs) -> Judgement:
        return Judgement(log_probs, self._rows.gold[: len(log_probs)])

    @cached_property
    def _rows(self) -> EvaluationRows:
        """Validation rows, then confirmation rows."""
        return EvaluationRows(self.run.task, (*self.run.rows.validation, *self.run.rows.confirmation))


def leads(one: Contender, other: Contender, gold: IndexArray, objective: Objective) -> bool:
    """Whether a prompt is better than another by more than a standard error, paired by row.

    Args:
        gold: of the rows on which both were judged, first; `[rows]`.
    """
    if one.answers is None or other.answers is None or len(one.answers) != len(other.answers):
        return False
    return leads_by_an_error(one.answers, other.answers, gold[: len(one.answers)], objective)


def pick_answer(contenders: list[Contender]) -> Contender:
    """The prompt of the method, unless another is better on validation and confirmation rows."""
    own, *others = contenders
    best = own
    for one in others:
        if one.score is not None and best.score is not None and one.score.value > best.score.value:
            best = one
    return best
