"""Builds the result of a run from its final state."""

from dataclasses import dataclass

from lens_engine import __version__
from lens_engine.classifier.classifier import TaskRecord
from lens_engine.classifier.quality import Accuracy, interval
from lens_engine.classifier.tested import TestedClassifier
from lens_engine.judging.rounding import rounding_nats
from lens_engine.judging.score import measure_lead, rank_key
from lens_engine.methods.base import Findings
from lens_engine.result import Lead, Provenance, SelectionResult, Spending, SupportExample
from lens_engine.rows.problem import digest_examples
from lens_engine.run.preparation import PreparedRun, count_splits
from lens_engine.run.state import RunState
from lens_engine.run.verdict import reach_verdict
from lens_engine.run.wording import CLASSIFIERS, name_step
from lens_engine.scoring.base import LabelScorer, ScorerIdentity
from lens_engine.scoring.cache.scorer import SituatedScorer, find_computing
from lens_engine.types import Permutation, StopReason

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

    @property
    def chosen(self) -> Permutation:
        """The permutation of the result: the choice of the confirmation, or else of the method."""
        confirmed = self.state.evaluation.chosen
        return self.chosen_by_method if confirmed is None else confirmed

    @property
    def identity(self) -> ScorerIdentity:
        return self.prepared.meter.scorer.identity


def build_result(ending: Ending) -> SelectionResult:
    """The result of a run, with its digest."""
    evaluation, rows = ending.state.evaluation, ending.prepared.run.rows
    lead, verdict = _lead(ending), reach_verdict(evaluation, ending.reason)
    return SelectionResult(
        partial=ending.reason is not StopReason.COMPLETED,
        stop_reason=ending.reason,
        task=TaskRecord.of(ending.prepared.run.task),
        examples=_support_examples(ending),
        prompt="".join(_render(ending)),
        validation=_validation_figure(ending),
        confirmation=evaluation.confirmation,
        test=evaluation.test,
        classifier=evaluation.classifiers.get("ensemble" if verdict is None else verdict.use),
        tested=tuple(
            TestedClassifier.of(name, evaluation.classifiers[name])
            for name in CLASSIFIERS
            if name in evaluation.classifiers
        ),
        frontier=evaluation.frontier,
        random=evaluation.random,
        random_and_validation=evaluation.random_and_validation,
        verdict=verdict,
        order=evaluation.order,
        lead=lead,
        truncated_prompts=rows.trimmed_too_long,
        splits=count_splits(rows),
        cost=_cost_figures(ending),
        warnings=_warnings(ending, lead),
        provenance=_provenance(ending),
    ).with_digest()


def _render(ending: Ending) -> tuple[str, ...]:
    run = ending.prepared.run
    return run.task.render_prefix([run.rows.candidates[index] for index in ending.chosen])


def _support_examples(ending: Ending) -> tuple[SupportExample, ...]:
    run = ending.prepared.run
    examples = [run.rows.candidates[index] for index in ending.chosen]
    tokens = ending.prepared.meter.scorer.count_tokens(_render(ending))
    return tuple(
        SupportExample(
            position=position,
            row=example.row,
            text=example.text,
            label=example.label,
            label_word=run.task.verbalizer.words[example.label],
            info_score=ending.findings.info_scores.get(index),
            tokens=tokens[position],
        )
        for position, (index, example) in enumerate(zip(ending.chosen, examples, strict=True))
    )


def _validation_figure(ending: Ending) -> Accuracy | None:
    scores = dict(zip(ending.findings.finalists, ending.findings.scores, strict=True))
    score = scores.get(ending.chosen)
    if score is None:
        return None
    return Accuracy(accuracy=score.accuracy, n=score.n, ci95=interval(score.correct, score.n))


def _lead(ending: Ending) -> Lead | None:
    """The lead of the chosen permutation over the runner-up of the finalists, on the rows that ranked them."""
    findings, pooled = ending.findings, ending.state.evaluation.pooled_scores
    if len(findings.finalists) < 2:
        return None
    scores = pooled or findings.scores
    ranked = sorted(zip(findings.finalists, scores, strict=True), key=lambda pair: rank_key(*pair))
    rounding = rounding_nats(ending.identity.dtype)
    return measure_lead(ranked[0][1], ranked[1][1], rounding)


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
    )


def _warnings(ending: Ending, lead: Lead | None) -> tuple[str, ...]:
    rows, skipped = ending.prepared.run.rows, ending.state.evaluation.skipped
    warnings = list(rows.warnings)
    if rows.skipped_too_long:
        warnings.append(f"{rows.skipped_too_long} rows were left out because of texts too long for the model's context")
    if rows.trimmed_too_long:
        warnings.append(f"{rows.trimmed_too_long} texts were trimmed to fit the model's context")
    warnings += ending.findings.warnings
    warnings += _noisy_lead(lead, ending.identity.dtype)
    if ending.prepared.meter.met_deadline and ending.reason is StopReason.BUDGET:
        warnings.append(
            "the operator's time limit for a run, not the selection's own budget, ended this run: the result is the "
            "best found until then"
        )
    if ending.state.evaluation.is_fit_short:
        warnings.append("the budget did not cover the ensemble's fit rows: it was fitted on rows scored before")
    if skipped:
        warnings.append("the budget did not cover: " + ", ".join(map(name_step, skipped)))
    return tuple(warnings)


def _noisy_lead(lead: Lead | None, dtype: str) -> list[str]:
    """A warning if the rounding of a 16-bit format may have decided; none for float32."""
    if lead is None or not lead.within_noise or dtype == "float32":
        return []
    ahead = f"leads the runner-up by {lead.rows} of" if lead.rows else "and the runner-up are level on the"
    return [
        f"the chosen permutation {ahead} {lead.n} rows that decided, which is within the rounding of {dtype} "
        f"({lead.close_rows} close rows): on another device, or in float32, the runner-up may be chosen"
    ]


def _provenance(ending: Ending) -> Provenance:
    identity, problem, config = ending.identity, ending.prepared.problem, ending.prepared.run.config
    return Provenance(
        lens=__version__,
        model=identity.model,
        revision=identity.revision,
        dtype=identity.dtype,
        device=identity.device,
        device_name=_find_device_name(ending.prepared.meter.scorer),
        executor=identity.executor,
        executor_note=identity.executor_note,
        seed=config.seed,
        dataset_sha256=digest_examples(problem.examples),
        test_sha256=None if problem.test is None else digest_examples(problem.test),
        config=config.model_dump(mode="json"),
    )


def _find_device_name(scorer: LabelScorer) -> str | None:
    """Name of the GPU, for example "NVIDIA H200". None on a processor, and for a scorer that does not know it."""
    scorer = find_computing(scorer)
    facts = scorer.surroundings if isinstance(scorer, SituatedScorer) else ()
    return next((fact.removeprefix(_GPU) for fact in facts if fact.startswith(_GPU)), None)
