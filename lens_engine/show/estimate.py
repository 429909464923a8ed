"""An estimate as tables and sentences."""

from collections.abc import Iterator

from lens_engine.metering.cost import Cost
from lens_engine.metering.estimate import CostEstimate
from lens_engine.result import Splits
from lens_engine.scoring.spending import Paid
from lens_engine.show.table import NOTHING, Table
from lens_engine.show.verdict import advise_by_words
from lens_engine.task.wording import describe_seconds, describe_usd, show_count
from lens_engine.types import Phase


def list_cost_tables(estimate: CostEstimate) -> list[Table]:
    """The cost of each phase with the total below, and the rows of each split if they are known."""
    rows = [] if estimate.splits is None else [_tabulate_rows(estimate.splits, estimate.fit_rows)]
    return [_tabulate_bills(estimate) if estimate.bills else _tabulate_cost(estimate), *rows]


def _tabulate_cost(estimate: CostEstimate) -> Table:
    return Table(
        title="Expected cost of the run",
        header=("phase", "pairs", "tokens", "time"),
        rows=tuple((phase.value, *_cells(cost, estimate.seconds_of(phase))) for phase, cost in estimate.phases.items()),
        words=("phase",),
        footer=("total", *_cells(estimate.total, estimate.seconds)),
        caption="speed measured on a small sample; repeated permutations are scored once",
    )


def _tabulate_bills(estimate: CostEstimate) -> Table:
    """What a server is asked; the tokens are those that it bills."""
    phases, bills = [*estimate.bills], [*estimate.bills.values()]
    tokens, requests = sum(bill.tokens for bill in bills), sum(bill.requests for bill in bills)
    total = ("total", f"{estimate.total.pairs:,}", f"{requests:,}", f"{tokens:,}", _show_usd(estimate.usd))
    return Table(
        title="Expected cost of the run",
        header=("phase", "pairs", "requests", "tokens sent", "at most", "time"),
        rows=tuple(
            (
                phase.value,
                f"{estimate.phases[phase].pairs:,}",
                f"{bill.requests:,}",
                f"{bill.tokens:,}",
                _show_usd(bill.usd),
                _show_seconds(estimate.seconds_of(phase)),
            )
            for phase, bill in zip(phases, bills, strict=True)
        ),
        words=("phase",),
        footer=(*total, _show_seconds(estimate.seconds)),
        caption="at most: without the server's cache; answers on disk and repeated permutations cost nothing",
    )


def describe_estimate(estimate: CostEstimate) -> list[str]:
    """Limits of the budget below the estimate, and what a bag of words reaches: a sentence each."""
    sentences = [
        f"The budget ends the run {limit}, with the best examples found until then." for limit in _list_limits(estimate)
    ]
    if estimate.sample is not None and estimate.sample.requests:
        sentences.append(describe_sample(estimate.sample, has_prices=estimate.usd is not None))
    if estimate.words_accuracy is not None:
        some = estimate.words_rows
        rows = f"{'' if some is None else f'{some:,} of '}the labelled rows of this run"
        sentences.append(advise_by_words(estimate.words_accuracy, estimate.largest_class, rows))
    return sentences


def describe_sample(sample: Paid, *, has_prices: bool) -> str:
    """What the measuring of the speed took at a server."""
    money = f" and cost {describe_usd(sample.usd)}" if has_prices else ""
    asked = show_count(sample.requests, "request")
    return f"The speed was measured on a small sample, which took {asked}{money}; its answers are kept."


def _list_limits(estimate: CostEstimate) -> Iterator[str]:
    pairs, seconds = estimate.budget.max_pairs, estimate.budget.max_seconds
    if pairs is not None and pairs < estimate.total.pairs:
        first = estimate.phases.get(Phase.FILTER, Cost()).pairs
        early = f", before any permutation is searched: that takes more than {first:,}" if pairs <= first else ""
        yield f"at {pairs:,} pairs (budget.max_pairs){early}"
    if seconds is not None and (estimate.seconds is None or seconds < estimate.seconds):
        yield f"after {describe_seconds(seconds)} (budget.max_seconds)"
    cost = estimate.budget.max_cost
    if cost is not None and estimate.usd is not None and cost < estimate.usd:
        yield f"at {describe_usd(cost)} (budget.max_cost)"


def _tabulate_rows(splits: Splits, fit_rows: int | None) -> Table:
    names = ("test", "validation", "confirmation", "score_set", "candidates")
    rows = [(name.replace("_", " "), f"{getattr(splits, name):,}") for name in names]
    return Table(
        title="Rows of each split",
        header=("split", "rows"),
        rows=(*rows, ("fit rows", NOTHING if fit_rows is None else f"{fit_rows:,}")),
        words=("split",),
        caption="fit rows: validation rows, confirmation rows and others; the head is fitted on them",
    )


def _cells(cost: Cost, seconds: float | None) -> tuple[str, str, str]:
    return f"{cost.pairs:,}", f"{cost.tokens:,}", _show_seconds(seconds)


def _show_seconds(seconds: float | None) -> str:
    return NOTHING if seconds is None else describe_seconds(seconds)


def _show_usd(usd: float | None) -> str:
    return NOTHING if usd is None else describe_usd(usd)
