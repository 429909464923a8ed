"""The warnings of a result: what may surprise in its rows, in how the model was asked, and in what was left out."""

from collections.abc import Sequence

from lens_engine.method.setup import Setup
from lens_engine.model.limits import UNFINISHED, find_floors, find_rows, has_floors
from lens_engine.prompt.wording import show_count
from lens_engine.result import Contender
from lens_engine.run.choices import Found
from lens_engine.run.preparation import PreparedRun
from lens_engine.run.state import RunState
from lens_engine.show.verdict import warn_of_largest_class
from lens_engine.show.words import STEPS
from lens_engine.types import LabelLogProbs, StopReason

ANSWERS_ALONE = (
    "the model gives answers and no probabilities: the search began with random examples, a prompt cannot be "
    "corrected, and how sure the model is of an answer is not known"
)


def list_warnings(
    prepared: PreparedRun, found: Found, contenders: Sequence[Contender], reason: StopReason
) -> tuple[str, ...]:
    """Everything that a reader of the result should know before its figures; first the warnings of the search."""
    setup, rows, state, meter = prepared.setup, prepared.setup.rows, found.state, prepared.meter
    warnings = list(rows.warnings)
    if rows.skipped_too_long:
        warnings.append(f"{show_count(rows.skipped_too_long, 'row', 'was')} left out: cut, the text was met before")
    if rows.trimmed_too_long:
        warnings.append(f"{show_count(rows.trimmed_too_long, 'text', 'was')} too long and cut")
    if near := setup.near_test_rows:
        warnings.append(
            f"{near:,} of {show_count(len(rows.test), 'test row')} {'is' if near == 1 else 'are'} nearly equal to "
            "labelled rows, so that figures on the test rows may be too high"
        )
    warnings += filter(None, [prepared.foreign_texts])
    if not found.findings.finalists and all(one.prompt is None for one in found.choices.table.lines):
        warnings.append("the budget ended before any row was judged: the examples of the prompt are random")
    else:
        warnings += found.findings.warnings
    if meter.refused:
        warnings.append(
            f"{show_count(meter.refused, 'request', 'was')} refused for the content, of {meter.spent.pairs:,}; each "
            "counts as no answer, and so as wrong"
        )
    warnings += _describe_asking(setup, state)
    if meter.limits.met_deadline and reason is StopReason.BUDGET:
        warnings.append(
            "the operator's time limit for a run, not the selection's own budget, ended this run: the result is the "
            "best found until then"
        )
    warnings += [
        *_describe_sample(setup),
        *warn_of_largest_class([one.test or one.judged for one in contenders], setup.config.objective),
        *_warn_of_fewer_rows(setup, state),
    ]
    if state.skipped:
        warnings.append("the budget did not cover: " + ", ".join(STEPS[step] for step in state.skipped))
    return tuple(warnings)


def _warn_of_fewer_rows(setup: Setup, state: RunState) -> list[str]:
    """That word counting was not fitted on every labelled row, if it was not."""
    available = len(setup.rows.labelled)
    fitted = [one.classifier.fit_rows for one in state.candidates if one.name == "bag_of_words"]
    return [
        f"word counting was fitted on {number:,} of {available:,} labelled rows, because there are many labels"
        for number in fitted
        if number < available
    ]


def _describe_asking(setup: Setup, state: RunState) -> list[str]:
    """Warnings of a chat."""
    found = [*({} if state.judging is None else state.judging.cells).values(), *state.tested.values()]
    if not setup.has_probabilities:
        return [ANSWERS_ALONE, *_describe_unfinished(found)]
    floors = sum(int(find_floors(one).sum()) for one in found) if has_floors(setup.task) else 0
    return [
        f"{floors:,} of {sum(one.size for one in found):,} values of labels are upper bounds, because the server lists "
        "the most probable tokens alone"
    ][: min(floors, 1)]


def _describe_unfinished(found: list[LabelLogProbs]) -> list[str]:
    """How often the model had not answered at the end of its limit, on the same rows."""
    unfinished, rows = sum(int(find_rows(one, UNFINISHED).sum()) for one in found), sum(map(len, found))
    if not unfinished:
        return []
    return [
        f"{unfinished:,} of {rows:,} answers ended while the model was thinking, and count as wrong; raise "
        "max_completion_tokens, or turn the reasoning off (docs/servers.md)"
    ]


def _describe_sample(setup: Setup) -> list[str]:
    """A warning where the pool is a sample."""
    pool, left_out = setup.drawn_pool
    if not left_out:
        return []
    rows = len(pool.rows)
    return [f"examples of an input are found among {rows:,} rows, a random sample of {rows + left_out:,}"]
