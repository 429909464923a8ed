"""From what a run found to the result it returns."""

from dataclasses import dataclass

from lens_engine import __version__
from lens_engine.config import SelectionConfig
from lens_engine.judging.judgement import interval
from lens_engine.judging.rounding import rounding_nats
from lens_engine.judging.score import measure_lead, rank_key
from lens_engine.result import Accuracy, Lead, Provenance, SelectionResult, Spending, Splits, SupportExample
from lens_engine.rows.context import FittedRows
from lens_engine.rows.problem import Problem, digest_examples
from lens_engine.run.state import RunState
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
    num_random_permutations: int = 0  #: what random-and-validation was to draw, as the method

    @property
    def survivors(self) -> tuple[Example, ...]:
        return self.state.filtering.pick_survivors(self.fitted.rows.candidates)


def build_result(run: Findings, stop_reason: StopReason) -> SelectionResult:
    """The result of a run that ended for this reason, with its digest."""
    state, assessment = run.state, run.state.assessment
    chosen = assessment.chosen if assessment.chosen is not None else state.search.best if state.search else ()
    return SelectionResult(
        partial=stop_reason is not StopReason.COMPLETED,
        stop_reason=stop_reason,
        examples=_support_examples(run, chosen),
        validation=_validation_figure(run, chosen),
        confirmation=assessment.confirmation,
        test=assessment.test,
        baselines=assessment.baselines,
        verdict=assessment.verdict,
        order=assessment.order,
        lead=_lead(run),
        truncated_prompts=run.fitted.trimmed,
        splits=_split_figures(run.fitted),
        cost=_cost_figures(run),
        warnings=_warnings(run),
        provenance=_provenance(run),
    ).with_digest()


def _support_examples(run: Findings, chosen: Permutation) -> tuple[SupportExample, ...]:
    survivors, filtering = run.survivors, run.state.filtering
    info_scores = filtering.info_scores.tolist() if filtering.rounds_done else [None] * len(survivors)
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
            info_score=info_scores[index],
            tokens=tokens[position],
        )
        for position, index in enumerate(chosen)
    )


def _validation_figure(run: Findings, chosen: Permutation) -> Accuracy | None:
    search = run.state.search
    standing = search.standings.get(chosen) if search else run.state.assessment.rivals.standing
    if standing is None:
        return None
    return Accuracy(accuracy=standing.accuracy, n=standing.n, ci95=interval(standing.correct, standing.n))


def _lead(run: Findings) -> Lead | None:
    """The chosen permutation against the runner-up of the last beam, by the rows that decided between them."""
    search, pooled = run.state.search, run.state.assessment.pooled_standings
    if search is None or len(search.beam) < 2:
        return None
    standings = pooled or tuple(search.standings[permutation] for permutation in search.beam)
    ranked = sorted(zip(search.beam, standings, strict=True), key=lambda pair: rank_key(*pair))
    rounding = rounding_nats(run.scorer.identity.dtype, calibrated=run.config.calibrated_search)
    return measure_lead(ranked[0][1], ranked[1][1], rounding)


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
    state, search = run.state, run.state.search
    return Spending(
        forwards=state.spent.forwards,
        tokens=state.spent.tokens,
        seconds=run.seconds,
        pairs_from_cache=state.pairs_from_cache,
        permutations_evaluated=search.num_evaluated if search else state.assessment.rivals.drawn,
        permutations_eliminated=len(search.eliminated) if search else 0,
        token_budget=run.scorer.identity.token_budget,
    )


def _warnings(run: Findings) -> tuple[str, ...]:
    warnings = list(run.fitted.rows.warnings)
    if run.fitted.skipped:
        warnings.append(f"{run.fitted.skipped} rows were left out because of texts too long for the model's context")
    if run.fitted.trimmed:
        warnings.append(f"{run.fitted.trimmed} texts were trimmed to fit the model's context")
    warnings += _shortened_search(run)
    warnings += _noisy_lead(_lead(run), run.scorer.identity.dtype)
    if run.state.assessment.skipped:
        warnings.append("the budget did not cover: " + ", ".join(run.state.assessment.skipped))
    return tuple(warnings)


def _shortened_search(run: Findings) -> list[str]:
    if run.config.method != "lens":
        return _shortened_random_search(run)
    search, iterations = run.state.search, run.config.search.iterations
    if search is None:
        return ["the run ended before the search: the permutation was chosen by InfoScore and diversity alone"]
    if search.iterations_done < iterations:
        return [f"the search ended after {search.iterations_done} of {iterations} iterations"]
    return []


def _shortened_random_search(run: Findings) -> list[str]:
    drawn = run.state.assessment.rivals.drawn
    total = run.num_random_permutations if run.config.method == "random_and_validation" else drawn
    return [f"the search ended after {drawn} of {total} random permutations"] if drawn < total else []


def _noisy_lead(lead: Lead | None, dtype: str) -> list[str]:
    """A sentence where a 16-bit format may have decided; in float32 only twins are that close."""
    if lead is None or not lead.within_noise or dtype == "float32":
        return []
    ahead = f"leads the runner-up by {lead.rows} of" if lead.rows else "and the runner-up are level on the"
    return [
        f"the chosen permutation {ahead} {lead.n} rows that decided, which is within the rounding of {dtype} "
        f"({lead.close_rows} close rows): on another device, or in float32, the runner-up may be chosen"
    ]


def _provenance(run: Findings) -> Provenance:
    identity, problem = run.scorer.identity, run.problem
    return Provenance(
        lens=__version__,
        model=identity.model,
        revision=identity.revision,
        dtype=identity.dtype,
        device=identity.device,
        executor=identity.executor,
        seed=run.config.seed,
        dataset_sha256=digest_examples(problem.examples),
        test_sha256=None if problem.test is None else digest_examples(problem.test),
        config=run.config.model_dump(mode="json"),
    )
