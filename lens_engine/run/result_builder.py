"""Builds the result of a run from its final state."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lens_engine.classifier.candidates import Candidate, TestedClassifier, choose_candidate
from lens_engine.classifier.quality import RowFigures, compare_hits
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
from lens_engine.run.single_prompts import ComparedPrompts, SinglePrompts
from lens_engine.run.state import ComparisonState, JudgedForm, JudgedWording, RunState
from lens_engine.run.tested import find_better
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import SituatedScorer, find_computing
from lens_engine.scoring.no_answer import pick_answers
from lens_engine.search.base import Findings
from lens_engine.search.judgement import summarise
from lens_engine.show.verdict import say_verdict
from lens_engine.task.record import TaskRecord
from lens_engine.types import IndexArray, StopReason
from lens_engine.version import __version__

_GPU = "GPU "
"""How `describe_surroundings` begins the line that names the GPU."""


def build_result(
    prepared: PreparedRun, state: RunState[Any], prompts: SinglePrompts, reason: StopReason, *, is_empty_handed: bool
) -> SelectionResult:
    """The result of a run, with its digest.

    Args:
        reason: why the run ended.
        is_empty_handed: whether nothing speaks for the choice, because the budget ended too early.
    """
    comparison, run, meter = state.comparison, prepared.run, prepared.meter
    chosen, lead = choose_candidate(comparison.candidates, run.config.objective), prompts.lead()
    compared = [prompts.compare(use) for use in sorted(run.uses, key=lambda use: use != run.config.use)]
    accuracies = comparison.tally.accuracies
    result = SelectionResult(
        partial=reason is not StopReason.COMPLETED,
        stop_reason=reason,
        task=TaskRecord.of(run.task, run.rows.left_out),
        support_examples=tuple(show_prompt(prompts, one, chosen, meter.scorer) for one in compared),
        wordings=tuple(_show_wording(prepared, one) for one in state.wordings),
        forms=tuple(_show_form(one) for one in comparison.forms),
        pool=run.pool if any(one.chosen.form.nearest for one in compared) else None,
        classifier=None if chosen is None else chosen.classifier,
        tested=tuple(
            TestedClassifier.of(one, is_chosen=one is chosen)
            for one in sorted(comparison.candidates, key=lambda one: one.price)
        ),
        suspicious_labels=() if chosen is None else chosen.suspicious_labels,
        words=_compare_with_words(comparison, chosen, prompts.test_rows.gold),
        verdict=Verdict(sentence=""),
        random=summarise(accuracies, len(run.rows.validation)) if accuracies else None,
        test_answers=_list_test_answers(prompts, compared, chosen),
        lead=lead,
        most_tokens=run.rows.most_tokens,
        opening_tokens=sum(map(meter.lengths.count, run.task.opening)),
        truncated_prompts=run.rows.trimmed_too_long,
        splits=count_splits(run.rows).model_copy(update={"near_test_rows": run.near_test_rows}),
        cost=_show_cost(prepared, state, prompts.findings),
        warnings=(),
        provenance=_describe_provenance(prepared),
    )
    warnings = list_warnings(prepared, prompts, result, is_empty_handed=is_empty_handed)
    better = find_better(compared[0], comparison.candidates, chosen, prompts.test_rows.gold, run.config.objective)
    sentence = say_verdict(result, is_empty_handed=is_empty_handed, better=better)
    return result.model_copy(update={"verdict": Verdict(sentence=sentence), "warnings": warnings}).with_digest()


def _compare_with_words(
    comparison: ComparisonState, chosen: Candidate | None, gold: IndexArray
) -> HitComparison | None:
    """The classifier to use against word counting, on the test rows."""
    words = next((one for one in comparison.candidates if kind_of(one) == "words"), None)
    if chosen is None or words is None or chosen is words or not chosen.tested or not words.tested:
        return None
    own, rival, p_value = compare_hits(np.array(chosen.tested) == gold, np.array(words.tested) == gold)
    return HitComparison(only_own_right=own, only_rival_right=rival, p_value=p_value)


def _show_form(one: JudgedForm) -> TriedForm:
    return TriedForm(form=one.form, accuracy=one.accuracy, macro_f1=one.macro_f1, n=one.rows)


def _show_wording(prepared: PreparedRun, one: JudgedWording) -> TriedWording:
    task = prepared.runs[one.place].task
    return TriedWording(
        template=task.template.pattern,
        instruction=task.instruction,
        accuracy=one.accuracy,
        macro_f1=one.macro_f1,
        n=one.rows,
    )


def _list_test_answers(
    prompts: SinglePrompts, compared: Sequence[ComparedPrompts], classifier: Candidate | None
) -> TestAnswers:
    gold, has_probabilities = prompts.test_rows.gold, prompts.run.has_probabilities
    found = [one.chosen.test_log_probs.get(one.use) for one in compared]
    figures = [None if one is None else RowFigures.of(one, gold) for one in found]
    fixed = [None if one.chosen is one.fixed else one.fixed.test_log_probs.get(one.use) for one in compared]
    return TestAnswers(
        rows=tuple(example.row for example in prompts.test_rows.examples),
        gold=tuple(gold.tolist()),
        support_examples=tuple(None if one is None else tuple(one.answers.tolist()) for one in figures),
        fixed=tuple(None if one is None else tuple(pick_answers(one, gold).tolist()) for one in fixed),
        classifier=None if classifier is None else classifier.tested,
        support_examples_probabilities=tuple(
            one.probabilities if one is not None and has_probabilities else None for one in figures
        ),
        classifier_probabilities=None if classifier is None else classifier.tested_probabilities,
    )


def _show_cost(prepared: PreparedRun, state: RunState[Any], findings: Findings) -> Spending:
    meter = prepared.meter
    return Spending(
        pairs=state.spent.pairs,
        tokens=state.spent.tokens,
        seconds=meter.limits.seconds,
        pairs_from_cache=state.pairs_from_cache,
        permutations_judged=findings.num_judged,
        permutations_dropped=findings.num_dropped,
        token_budget=meter.scorer.identity.token_budget,
        paid=Payment.of(state.paid, meter.scorer),
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
