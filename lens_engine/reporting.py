"""From what a run found to the result it returns."""

from dataclasses import dataclass

from lens_engine import __version__
from lens_engine.config import SelectionConfig
from lens_engine.context import FittedRows
from lens_engine.dataset import Problem, digest_examples
from lens_engine.evaluation import interval
from lens_engine.report import Accuracy, Provenance, SelectionResult, Spending, Splits, SupportExample
from lens_engine.run_state import RunState
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import Example, Permutation, StopReason


@dataclass(frozen=True)
class Findings:
    """All that a result is made of."""

    problem: Problem
    config: SelectionConfig
    fitted: FittedRows
    state: RunState
    scorer: LabelScorer
    seconds: float

    @property
    def survivors(self) -> tuple[Example, ...]:
        return self.state.filtering.pick_survivors(self.fitted.rows.candidates)


def build_result(run: Findings, stop_reason: StopReason) -> SelectionResult:
    """The result of a run that ended for this reason, with its digest."""
    state, assessment = run.state, run.state.assessment
    chosen = assessment.chosen or (state.search.best if state.search else ())
    return SelectionResult(
        partial=stop_reason is not StopReason.COMPLETED,
        stop_reason=stop_reason,
        examples=_support_examples(run, chosen),
        validation=_validation_figure(state, chosen),
        confirmation=assessment.confirmation,
        test=assessment.test,
        baselines=assessment.baselines,
        verdict=assessment.verdict,
        order=assessment.order,
        truncated_prompts=run.fitted.trimmed,
        splits=_split_figures(run.fitted),
        cost=_cost_figures(run),
        warnings=_warnings(run),
        provenance=_provenance(run),
    ).with_digest()


def _support_examples(run: Findings, chosen: Permutation) -> tuple[SupportExample, ...]:
    survivors, info_scores = run.survivors, run.state.filtering.info_scores
    task = run.problem.task
    demonstrations = [task.render_demonstration(survivors[index]) for index in chosen]
    tokens = run.scorer.count_tokens(demonstrations)
    return tuple(
        SupportExample(
            position=position,
            row=survivors[index].row,
            text=survivors[index].text,
            label=survivors[index].label,
            label_word=task.verbalizer.words[survivors[index].label],
            info_score=float(info_scores[index]),
            tokens=tokens[position],
        )
        for position, index in enumerate(chosen)
    )


def _validation_figure(state: RunState, chosen: Permutation) -> Accuracy | None:
    if state.search is None or chosen not in state.search.standings:
        return None
    standing = state.search.standings[chosen]
    return Accuracy(accuracy=standing.accuracy, n=standing.n, ci95=interval(standing.correct, standing.n))


def _split_figures(fitted: FittedRows) -> Splits:
    rows = fitted.rows
    return Splits(
        candidates=len(rows.candidates),
        score_set=len(rows.score_set),
        validation=len(rows.validation),
        confirmation=len(rows.confirmation),
        test=len(rows.test),
        unused=rows.unused,
        duplicates_dropped=rows.duplicates_dropped,
        conflicting_texts=rows.conflicting_texts,
        leaked_from_test=rows.leaked_from_test,
        skipped_too_long=fitted.skipped,
        trimmed_too_long=fitted.trimmed,
    )


def _cost_figures(run: Findings) -> Spending:
    state = run.state
    evaluated = len(state.search.standings) if state.search else 0
    return Spending(
        forwards=state.spent.forwards,
        tokens=state.spent.tokens,
        seconds=run.seconds,
        pairs_from_cache=state.pairs_from_cache,
        permutations_evaluated=evaluated,
    )


def _warnings(run: Findings) -> tuple[str, ...]:
    warnings = list(run.fitted.rows.warnings)
    if run.fitted.skipped:
        warnings.append(f"{run.fitted.skipped} rows were left out because of texts too long for the model's context")
    if run.fitted.trimmed:
        warnings.append(f"{run.fitted.trimmed} texts were trimmed to fit the model's context")
    warnings += _shortened_search(run)
    if run.state.assessment.skipped:
        warnings.append("the budget did not cover: " + ", ".join(run.state.assessment.skipped))
    return tuple(warnings)


def _shortened_search(run: Findings) -> list[str]:
    search, iterations = run.state.search, run.config.search.iterations
    if search is None:
        return ["the run ended before the search: the permutation was chosen by InfoScore and diversity alone"]
    if search.iterations_done < iterations:
        return [f"the search ended after {search.iterations_done} of {iterations} iterations"]
    return []


def _provenance(run: Findings) -> Provenance:
    identity, problem = run.scorer.identity, run.problem
    return Provenance(
        lens=__version__,
        model=identity.model,
        revision=identity.revision,
        dtype=identity.dtype,
        device=identity.device,
        executor=identity.executor,
        token_budget=identity.token_budget,
        seed=run.config.seed,
        dataset_sha256=digest_examples(problem.examples),
        test_sha256=None if problem.test is None else digest_examples(problem.test),
        config=run.config.model_dump(mode="json"),
    )
