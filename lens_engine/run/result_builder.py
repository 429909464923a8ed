"""Builds the result of a run from its final state."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.classifier.candidates import Candidate, TestedClassifier, choose_candidate
from lens_engine.classifier.quality import RowFigures, compare_hits
from lens_engine.config import Objective, Use
from lens_engine.result import (
    HitComparison,
    Payment,
    Provenance,
    SelectionResult,
    Spending,
    TestAnswers,
    TriedForm,
    TriedWording,
    Verdict,
)
from lens_engine.result.headline import kind_of
from lens_engine.rows.problem import digest_examples
from lens_engine.run.preparation import PreparedRun, count_splits
from lens_engine.run.run_warnings import list_warnings
from lens_engine.run.shown_prompts import show_prompt
from lens_engine.run.single_prompts import SinglePrompts
from lens_engine.run.state import JudgedForm, JudgedWording, RunState
from lens_engine.scoring.base import LabelScorer, ScorerIdentity
from lens_engine.scoring.cache.scorer import SituatedScorer, find_computing
from lens_engine.search.base import Findings
from lens_engine.search.catalogue import name_method
from lens_engine.search.judgement import summarise
from lens_engine.show.verdict import say_verdict
from lens_engine.task.record import TaskRecord
from lens_engine.types import Permutation, StopReason
from lens_engine.version import __version__

_GPU = "GPU "
"""How `describe_surroundings` begins the line that names the GPU."""


@dataclass(frozen=True)
class Ending:
    """The input of `build_result`."""

    prepared: PreparedRun
    findings: Findings
    state: RunState[object]
    chosen_by_method: Permutation
    reason: StopReason
    is_empty_handed: bool = False  #: whether nothing speaks for the choice, because the budget ended too early

    @property
    def prompts(self) -> SinglePrompts:
        run = self.prepared.run
        method = "random" if self.is_empty_handed else name_method(run.config)
        return SinglePrompts(run, self.findings, self.state.comparison, self.chosen_by_method, method)

    @property
    def objective(self) -> Objective:
        return self.prepared.run.config.objective

    @property
    def identity(self) -> ScorerIdentity:
        return self.prepared.meter.scorer.identity


def build_result(ending: Ending) -> SelectionResult:
    """The result of a run, with its digest."""
    comparison, run = ending.state.comparison, ending.prepared.run
    lead, chosen = ending.prompts.lead(), choose_candidate(comparison.candidates, ending.objective)
    uses = sorted(run.uses, key=lambda use: use != run.config.use)
    accuracies = comparison.tally.accuracies
    answers = tuple(show_prompt(ending.prompts, use, chosen, ending.prepared.meter.scorer) for use in uses)
    result = SelectionResult(
        partial=ending.reason is not StopReason.COMPLETED,
        stop_reason=ending.reason,
        task=TaskRecord.of(run.task),
        support_examples=answers,
        wordings=tuple(_show_wording(ending, one) for one in ending.state.wordings),
        forms=tuple(_show_form(one) for one in comparison.forms),
        pool=run.pool if any(one.form.nearest for one in answers) else None,
        classifier=None if chosen is None else chosen.classifier,
        tested=tuple(
            TestedClassifier.of(one, is_chosen=one is chosen)
            for one in sorted(comparison.candidates, key=lambda one: one.price)
        ),
        suspicious_labels=() if chosen is None else chosen.suspicious_labels,
        words=_compare_with_words(ending, chosen),
        verdict=Verdict(sentence=""),
        random=summarise(accuracies, len(run.rows.validation)) if accuracies else None,
        test_answers=_test_answers(ending, uses, chosen),
        order=comparison.order,
        lead=lead,
        most_tokens=run.rows.most_tokens,
        opening_tokens=sum(map(ending.prepared.meter.lengths.count, run.task.opening)),
        truncated_prompts=run.rows.trimmed_too_long,
        splits=count_splits(run.rows).model_copy(update={"near_test_rows": run.near_test_rows}),
        cost=_cost_figures(ending),
        warnings=list_warnings(
            ending.prepared, ending.prompts, ending.reason, lead, is_empty_handed=ending.is_empty_handed
        ),
        provenance=_describe_provenance(ending.prepared),
    )
    sentence = say_verdict(result, is_empty_handed=ending.is_empty_handed)
    return result.model_copy(update={"verdict": Verdict(sentence=sentence)}).with_digest()


def _compare_with_words(ending: Ending, chosen: Candidate | None) -> HitComparison | None:
    """The classifier to use against word counting, on the test rows."""
    words = next((one for one in ending.state.comparison.candidates if kind_of(one) == "words"), None)
    if chosen is None or words is None or chosen is words or not chosen.tested or not words.tested:
        return None
    gold = ending.prompts.test_rows.gold
    own, rival, p_value = compare_hits(np.array(chosen.tested) == gold, np.array(words.tested) == gold)
    return HitComparison(only_own_right=own, only_rival_right=rival, p_value=p_value)


def _show_form(one: JudgedForm) -> TriedForm:
    return TriedForm(form=one.form, accuracy=one.accuracy, macro_f1=one.macro_f1, n=one.rows)


def _show_wording(ending: Ending, one: JudgedWording) -> TriedWording:
    task = ending.prepared.runs[one.place].task
    return TriedWording(
        template=task.template.pattern,
        instruction=task.instruction,
        accuracy=one.accuracy,
        macro_f1=one.macro_f1,
        n=one.rows,
    )


def _test_answers(ending: Ending, uses: Sequence[Use], classifier: Candidate | None) -> TestAnswers:
    prompts = ending.prompts
    picked = [(prompts.pick(use), use) for use in uses]
    found = [one.class_log_probs(use) for one, use in picked]
    figures = [None if one is None else RowFigures.of(one, prompts.test_rows.gold) for one in found]
    fixed = [prompts.pick_fixed(use).class_log_probs(use) if one.form.nearest else None for one, use in picked]
    return TestAnswers(
        rows=tuple(example.row for example in prompts.test_rows.examples),
        gold=tuple(prompts.test_rows.gold.tolist()),
        support_examples=tuple(None if one is None else tuple(one.answers.tolist()) for one in figures),
        fixed=tuple(None if one is None else tuple(one.argmax(axis=1).tolist()) for one in fixed),
        classifier=None if classifier is None else classifier.tested,
        support_examples_probabilities=tuple(
            None if one is None or not ending.prepared.run.has_probabilities else one.probabilities for one in figures
        ),
        classifier_probabilities=None if classifier is None else classifier.tested_probabilities,
    )


def _cost_figures(ending: Ending) -> Spending:
    state, findings = ending.state, ending.findings
    return Spending(
        pairs=state.spent.pairs,
        tokens=state.spent.tokens,
        seconds=ending.prepared.meter.limits.seconds,
        pairs_from_cache=state.pairs_from_cache,
        permutations_judged=findings.num_judged,
        permutations_dropped=findings.num_dropped,
        token_budget=ending.identity.token_budget,
        paid=Payment.of(state.paid, ending.prepared.meter.scorer),
    )


def _describe_provenance(prepared: PreparedRun) -> Provenance:
    """Everything needed to repeat the run."""
    scorer = prepared.meter.scorer
    identity, problem, config = scorer.identity, prepared.problem, prepared.run.config
    return Provenance(
        lens=__version__,
        model=identity.model,
        revision=identity.revision,
        dtype=identity.dtype,
        device=identity.device,
        device_name=_find_device_name(scorer),
        executor=identity.executor,
        executor_note=identity.executor_note,
        seed=config.seed,
        dataset_sha256=digest_examples(problem.examples),
        test_sha256=None if problem.test is None else digest_examples(problem.test),
        config=config.model_dump(mode="json"),
    )


def _find_device_name(scorer: LabelScorer) -> str | None:
    """Name of the GPU, for example "NVIDIA H200". None on a processor, and for a scorer that does not know it."""
    facts = found.surroundings if isinstance(found := find_computing(scorer), SituatedScorer) else ()
    return next((fact.removeprefix(_GPU) for fact in facts if fact.startswith(_GPU)), None)
