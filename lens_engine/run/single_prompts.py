"""The single prompts of a run: which is the best for each use, and what it was compared with.

Everything here is read from scores; nothing is scored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from lens_engine.classifier.log_probs import normalise
from lens_engine.classifier.quality import Accuracy, Quality, measure_accuracy, measure_quality
from lens_engine.config import Objective, Use
from lens_engine.result import Lead
from lens_engine.retrieval.form import PromptForm
from lens_engine.run.state import ComparisonState
from lens_engine.scoring.no_answer import keep_unanswered
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
    """A prompt under one use, with everything that is measured of it."""

    method: str
    form: PromptForm
    permutation: Permutation
    biases: FloatArray | None  #: `[labels]`, from the rows that judged it
    score: Score | None = None  #: on validation and confirmation rows; None if it was not judged
    answers: IndexArray | None = None  #: to these rows
    judged: Accuracy | None = None  #: of these answers
    test_log_probs: Mapping[Use, FloatArray] = field(default_factory=dict)
    """`[test_rows, labels]`, log-probabilities as production reads them; without uses that it was not tested for."""
    test: Mapping[Use, Quality] = field(default_factory=dict)  #: the quality of `test_log_probs`


@dataclass(frozen=True)
class ComparedPrompts:
    """The prompts of a run under one use."""

    use: Use
    contenders: tuple[Contender, ...]  #: that of the method first, then those that it is compared with
    fixed: Contender  #: the best of those with fixed demonstrations
    chosen: Contender  #: the prompt to use


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

    def compare(self, use: Use) -> ComparedPrompts:
        """The prompts for this use, with the one to use: the best of the fixed ones, or the form that leads it by more
        than a standard error.

        Where the options do not try the fixed form, a form needs no lead.
        """
        comparison = self.comparison
        found = [self._contender(self.method, self.own(use), self._own_log_probs, use)]
        if comparison.zero_shot is not None and self.method != "zero_shot":
            found.append(self._contender("zero_shot", (), {(): comparison.zero_shot.log_probs.array}, use))
        if comparison.rivals:
            log_probs = {one.permutation: one.log_probs.array for one in comparison.rivals}
            best = draw_random(self.run, comparison.tally.best[use], 1)[0]
            found.append(self._contender("random_and_validation", best, log_probs, use))
        fixed, forms = pick_best(found), self._form_contenders(use)
        chosen = next((one for one in forms if one.test and self._may_replace(one, fixed)), fixed)
        return ComparedPrompts(use, (*found, *forms), fixed, chosen)

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
        """A contender from its log-probabilities on the rows that judged it and on the test rows."""
        judgement = None if log_probs is None else self._judgement(log_probs)
        biases = find_label_biases(judgement) if judgement is not None and self.run.has_probabilities else None
        read, gold = {} if tested is None else _read_by_use(tested, biases), self.test_rows.gold
        test = {one: measure_quality(read[one], gold) for one in read}
        made = Contender(method, form, permutation, biases, test_log_probs=read, test=test)
        if log_probs is None or judgement is None:
            return made
        answers = find_answers(judgement, biases if use == "probabilities" else None)
        judged = measure_accuracy(answers, judgement.gold)
        return replace(made, score=self._score(log_probs, use), answers=answers, judged=judged)

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


def pick_best(contenders: Sequence[Contender]) -> Contender:
    """The prompt of the method, which is the first, unless another is better on validation and confirmation rows."""
    best, *others = contenders
    for one in others:
        if one.score is not None and best.score is not None and one.score.value > best.score.value:
            best = one
    return best


def _read_by_use(tested: LabelLogProbs, biases: FloatArray | None) -> dict[Use, FloatArray]:
    """Log-probabilities `[test_rows, labels]` as production reads them for each use that can be."""
    found: dict[Use, FloatArray] = {"prompt": keep_unanswered(normalise(tested.astype(np.float64)), tested)}
    if biases is not None:
        found["probabilities"] = keep_unanswered(normalise(tested.astype(np.float64) + biases), tested)
    return found
