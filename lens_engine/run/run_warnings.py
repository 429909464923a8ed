"""The warnings of a result: what may surprise in its rows, in how the model was asked, and in what was left out."""

import numpy as np

from lens_engine.classifier.quality import Quality
from lens_engine.result import SelectionResult
from lens_engine.result.headline import kind_of
from lens_engine.rows.fit_rows import list_labelled_rows
from lens_engine.run.preparation import PreparedRun
from lens_engine.run.single_prompts import SinglePrompts
from lens_engine.run.state import ComparisonState, JudgedPrompt
from lens_engine.scoring.floors import count_true_floors, find_floors, has_floors
from lens_engine.scoring.no_answer import UNFINISHED, find_rows
from lens_engine.search.base import Run
from lens_engine.show.verdict import describe_noisy_lead, warn_of_largest_class
from lens_engine.show.words import STEPS
from lens_engine.task.wording import show_count
from lens_engine.types import Example, StopReason

ANSWERS_ALONE = (
    "the model gives answers and no probabilities: the search began with random examples, a prompt cannot be "
    "corrected, and how sure the model is of an answer is not known"
)


def list_warnings(
    prepared: PreparedRun, prompts: SinglePrompts, result: SelectionResult, *, is_empty_handed: bool
) -> tuple[str, ...]:
    """Everything that a reader of the result should know before its figures.

    Args:
        result: without warnings.
        is_empty_handed: whether nothing speaks for the choice, because the budget ended too early.
    """
    run, rows, comparison, meter = prepared.run, prepared.run.rows, prompts.comparison, prepared.meter
    warnings = list(rows.warnings)
    if rows.skipped_too_long:
        warnings.append(f"{show_count(rows.skipped_too_long, 'row', 'was')} left out: its text, when cut, is another's")
    if rows.trimmed_too_long:
        warnings.append(f"{show_count(rows.trimmed_too_long, 'text', 'was')} too long and cut")
    if near := run.near_test_rows:
        warnings.append(
            f"{near:,} of {show_count(len(rows.test), 'test row')} {'is' if near == 1 else 'are'} nearly equal to rows "
            "of other splits, so that figures on the test rows may be too high"
        )
    warnings += filter(None, [prepared.foreign_texts])
    if is_empty_handed:
        warnings.append("the budget ended before any examples were chosen: those of the prompt are random")
    else:
        warnings += prompts.findings.warnings
    if meter.refused:
        warnings.append(
            f"{show_count(meter.refused, 'request', 'was')} refused for the content, of {meter.spent.pairs:,}; each "
            "counts as no answer, and so as wrong"
        )
    warnings += [*_describe_asking(run, comparison), *describe_noisy_lead(result.lead, meter.scorer.identity.dtype)]
    if meter.limits.met_deadline and result.stop_reason is StopReason.BUDGET:
        warnings.append(
            "the operator's time limit for a run, not the selection's own budget, ended this run: the result is the "
            "best found until then"
        )
    if comparison.forms:
        warnings += _describe_sample(run)
    warnings += [
        *warn_of_largest_class(_list_tested(result), run.config.objective),
        *_warn_of_fewer_rows(run, comparison),
    ]
    if comparison.skipped:
        warnings.append("the budget did not cover: " + ", ".join(STEPS[step] for step in comparison.skipped))
    return tuple(warnings)


def _warn_of_fewer_rows(run: Run, comparison: ComparisonState) -> list[str]:
    """That word counting was not fitted on every labelled row, if it was not."""
    available = len(list_labelled_rows(run.rows))
    fitted = [one.classifier.fit_rows for one in comparison.candidates if kind_of(one) == "words"]
    return [
        f"word counting was fitted on {number:,} of {available:,} labelled rows, because there are many labels"
        for number in fitted
        if number < available
    ]


def _list_tested(result: SelectionResult) -> list[Quality | None]:
    """The quality of every prompt and classifier on the test rows."""
    prompts = [one.test for answer in result.support_examples for one in answer.contenders]
    return [*prompts, *(one.test for one in result.tested)]


def _describe_asking(run: Run, comparison: ComparisonState) -> list[str]:
    """Warnings of a chat."""
    if not run.has_probabilities:
        return [ANSWERS_ALONE, *_describe_unfinished(comparison)]
    return _describe_floors(run, comparison) if has_floors(run.task) else []


def _describe_floors(run: Run, comparison: ComparisonState) -> list[str]:
    """How many labels were not listed on the rows that judged and tested prompts."""
    rows = (*run.rows.validation, *run.rows.confirmation)
    found = [_count(run, one, rows) for one in _list_judged(comparison)]
    found += [_count(run, one, run.rows.test) for one in comparison.tested]
    values, floors, true_values, true_floors = (int(column) for column in np.array(found).reshape(-1, 4).sum(axis=0))
    if not floors:
        return []
    return [
        f"{floors:,} of {values:,} values of labels are upper bounds, because the server lists the most probable "
        f"tokens alone; so are {true_floors:,} of the {true_values:,} values of right labels"
    ]


def _describe_unfinished(comparison: ComparisonState) -> list[str]:
    """How often the model had not answered at the end of its limit, on the same rows."""
    found = [one.log_probs.array for one in (*_list_judged(comparison), *comparison.tested)]
    unfinished, rows = sum(int(find_rows(one, UNFINISHED).sum()) for one in found), sum(map(len, found))
    if not unfinished:
        return []
    return [
        f"{unfinished:,} of {rows:,} answers ended while the model was thinking, and count as wrong; raise "
        "max_completion_tokens, or turn the reasoning off (docs/servers.md)"
    ]


def _list_judged(comparison: ComparisonState) -> list[JudgedPrompt]:
    """Prompts that were judged on validation and confirmation rows."""
    return [*comparison.judged, *comparison.rivals, *filter(None, [comparison.zero_shot])]


def _count(run: Run, prompt: JudgedPrompt, examples: tuple[Example, ...]) -> tuple[int, int, int, int]:
    scores = prompt.log_probs.array
    gold = run.task.index_labels(examples[: len(scores)])
    return scores.size, int(find_floors(scores).sum()), len(scores), count_true_floors(scores, gold)


def _describe_sample(run: Run) -> list[str]:
    """A warning where the pool is a sample."""
    pool, left_out = run.drawn_pool
    if not left_out:
        return []
    rows = len(pool.rows)
    return [f"examples of an input are found among {rows:,} rows, a random sample of {rows + left_out:,}"]
