"""Builds the result of a run from its final state."""

from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.classifier.candidates import Candidate, TestedClassifier, choose_candidate
from lens_engine.classifier.largest_class import warn_of_largest_class
from lens_engine.classifier.quality import Quality, RowFigures
from lens_engine.config import Objective, Use
from lens_engine.result import (
    BestAnswer,
    LabelBias,
    Lead,
    Payment,
    SelectionResult,
    Spending,
    SupportExamples,
    TestAnswers,
    TriedForm,
    TriedWording,
    Verdict,
)
from lens_engine.rows.fit_rows import list_labelled_rows
from lens_engine.run.asking import describe_asking
from lens_engine.run.forms import describe_sample
from lens_engine.run.preparation import PreparedRun, count_splits
from lens_engine.run.provenance import describe_provenance
from lens_engine.run.recommendation import list_ahead
from lens_engine.run.shown_examples import show_examples
from lens_engine.run.single_prompts import Contender, SinglePrompts
from lens_engine.run.state import JudgedForm, JudgedWording, RunState
from lens_engine.run.wording import describe_noisy_lead, name_step, say_prompt, say_verdict
from lens_engine.scoring.base import ScorerIdentity
from lens_engine.search.base import Findings
from lens_engine.search.catalogue import name_method
from lens_engine.search.judgement import summarise
from lens_engine.task.record import TaskRecord
from lens_engine.task.wording import show_count
from lens_engine.types import Permutation, StopReason


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
        method = name_method(run.config)
        return SinglePrompts(run, self.findings, self.state.evaluation, self.chosen_by_method, method)

    @property
    def objective(self) -> Objective:
        return self.prepared.run.config.objective

    @property
    def identity(self) -> ScorerIdentity:
        return self.prepared.meter.scorer.identity


def build_result(ending: Ending) -> SelectionResult:
    """The result of a run, with its digest."""
    evaluation, run = ending.state.evaluation, ending.prepared.run
    lead, chosen = ending.prompts.lead(), choose_candidate(evaluation.candidates, ending.objective)
    uses = sorted(run.uses, key=lambda use: use != run.config.use)
    accuracies = evaluation.tally.accuracies
    answers = tuple(_answer(ending, use, chosen) for use in uses)
    return SelectionResult(
        partial=ending.reason is not StopReason.COMPLETED,
        stop_reason=ending.reason,
        task=TaskRecord.of(run.task),
        support_examples=answers,
        wordings=tuple(_show_wording(ending, one) for one in ending.state.wordings),
        forms=tuple(_show_form(one) for one in evaluation.forms),
        pool=run.pool if any(one.form.nearest for one in answers) else None,
        classifier=None if chosen is None else chosen.classifier,
        tested=tuple(
            TestedClassifier.of(one, is_chosen=one is chosen)
            for one in sorted(evaluation.candidates, key=lambda one: one.price)
        ),
        suspicious_labels=() if chosen is None else chosen.suspicious_labels,
        verdict=Verdict(sentence=_say_verdict(ending, chosen)),
        random=summarise(accuracies, len(run.rows.validation)) if accuracies else None,
        test_answers=_test_answers(ending, uses, chosen),
        order=evaluation.order,
        lead=lead,
        most_tokens=run.rows.most_tokens,
        opening_tokens=sum(map(ending.prepared.meter.count_tokens, run.task.opening)),
        truncated_prompts=run.rows.trimmed_too_long,
        splits=count_splits(run.rows).model_copy(update={"near_test_rows": run.near_test_rows}),
        cost=_cost_figures(ending),
        warnings=_warnings(ending, lead),
        provenance=describe_provenance(ending.prepared),
    ).with_digest()


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


def _say_verdict(ending: Ending, chosen: Candidate | None) -> str:
    candidates, is_empty_handed = ending.state.evaluation.candidates, ending.is_empty_handed
    return say_verdict(ending.reason, chosen, candidates, ending.objective, is_empty_handed=is_empty_handed)


def _answer(ending: Ending, use: Use, classifier: Candidate | None) -> SupportExamples:
    """The best single prompt for one use, beside the classifier to use."""
    prompts = ending.prompts
    chosen = prompts.pick(use)
    answer = _describe(ending, use, classifier, chosen)
    if chosen.form.kind == "fixed":
        return answer
    fixed = prompts.pick_fixed(use)
    return answer.model_copy(update={"fixed": _describe(ending, use, classifier, fixed)})


def _describe(ending: Ending, use: Use, classifier: Candidate | None, chosen: Contender) -> SupportExamples:
    """A single prompt for one use, beside the classifier to use."""
    prompts, run = ending.prompts, ending.prepared.run
    contenders = prompts.contenders(use)
    shown = [prompts.show(one, use) for one in contenders]
    rival = next((one for one in contenders[1:] if one.method == "random_and_validation"), None)
    figures = next(one for one in shown if (one.method, one.form) == (chosen.method, chosen.form))
    ahead = list_ahead(figures, classifier, ending.state.evaluation.candidates, ending.objective)
    is_compared = figures.judged is not None or figures.test is not None
    best = None
    if classifier is not None:
        is_prompt = is_compared and not ahead
        best = BestAnswer(
            name=chosen.method if is_prompt else classifier.name,
            test=figures.test if is_prompt else classifier.classifier.test,
        )
    biases = () if chosen.biases is None else zip(run.task.labels, chosen.biases.tolist(), strict=True)
    return SupportExamples(
        use=use,
        method=chosen.method,
        form=chosen.form,
        examples=show_examples(run, ending.findings, chosen.permutation, ending.prepared.meter.scorer),
        prompt="".join(run.task.render_prefix([run.rows.candidates[index] for index in chosen.permutation])),
        label_biases=tuple(LabelBias(label=label, bias=bias) for label, bias in biases),
        judged=figures.judged,
        without_biases=prompts.measure(chosen, "prompt"),
        with_biases=prompts.measure(chosen, "probabilities"),
        contenders=tuple(shown),
        comparison=None if rival is None else prompts.compare(contenders[0], rival, use),
        recommended=None if best is None or not is_compared else not ahead,
        best=best,
        reason=say_prompt(shown, figures, ahead, ending.objective),
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
        seconds=ending.prepared.meter.seconds,
        pairs_from_cache=state.pairs_from_cache,
        permutations_judged=findings.num_judged,
        permutations_dropped=findings.num_dropped,
        token_budget=ending.identity.token_budget,
        paid=Payment.of(state.paid, ending.prepared.meter.scorer),
    )


def _warnings(ending: Ending, lead: Lead | None) -> tuple[str, ...]:
    rows, evaluation = ending.prepared.run.rows, ending.state.evaluation
    warnings = list(rows.warnings)
    if rows.skipped_too_long:
        warnings.append(f"{show_count(rows.skipped_too_long, 'row', 'was')} too long and left out")
    if rows.trimmed_too_long:
        warnings.append(f"{show_count(rows.trimmed_too_long, 'text', 'was')} too long and cut")
    if near := ending.prepared.run.near_test_rows:
        warnings.append(
            f"{near:,} of {show_count(len(rows.test), 'test row')} {'is' if near == 1 else 'are'} nearly equal to rows "
            "of other splits, so that figures on the test rows may be too high"
        )
    warnings += filter(None, [ending.prepared.foreign_texts])
    if ending.is_empty_handed:
        warnings.append("the budget ended before any examples were chosen: those of the prompt are random")
    else:
        warnings += ending.findings.warnings
    warnings += [*describe_asking(ending.prepared.run, evaluation), *describe_noisy_lead(lead, ending.identity.dtype)]
    if ending.prepared.meter.met_deadline and ending.reason is StopReason.BUDGET:
        warnings.append(
            "the operator's time limit for a run, not the selection's own budget, ended this run: the result is the "
            "best found until then"
        )
    if evaluation.forms:
        warnings += describe_sample(ending.prepared.run)
    warnings += [*warn_of_largest_class(_list_tested(ending), ending.objective), *_warn_of_fewer_rows(ending)]
    if evaluation.skipped:
        warnings.append("the budget did not cover: " + ", ".join(map(name_step, evaluation.skipped)))
    return tuple(warnings)


def _warn_of_fewer_rows(ending: Ending) -> list[str]:
    """That the bag of words was not fitted on every labelled row, if it was not."""
    available = len(list_labelled_rows(ending.prepared.run.rows))
    fitted = [one.classifier.fit_rows for one in ending.state.evaluation.candidates if one.name == "bag_of_words"]
    return [
        f"the bag of words was fitted on {number:,} of {available:,} labelled rows, because there are many labels"
        for number in fitted
        if number < available
    ]


def _list_tested(ending: Ending) -> list[Quality | None]:
    """The quality of every prompt and candidate on the test rows."""
    prompts = ending.prompts
    found = [prompts.measure(one, use) for use in ending.prepared.run.uses for one in prompts.contenders(use)]
    return [*found, *(one.classifier.test for one in ending.state.evaluation.candidates)]
