"""An estimate as tables and sentences."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lens_engine.metering.estimate import CostEstimate, PresetPlan
from lens_engine.metering.prices import Cost
from lens_engine.model.spending import Bill, Paid
from lens_engine.prompt.wording import describe_seconds, describe_usd, show_count
from lens_engine.result import RowCounts
from lens_engine.show.table import NOTHING, Table
from lens_engine.types import Phase


def list_cost_tables(estimate: CostEstimate) -> list[Table]:
    """The cost of each phase with the total below, and what the rows do if that is known."""
    rows = [] if estimate.counts is None else [_tabulate_rows(estimate.counts, estimate.fit_rows)]
    return [_tabulate_cost(estimate), *rows]


def _tabulate_cost(estimate: CostEstimate) -> Table:
    """What each phase takes; of a server what it is asked, with the tokens that it bills."""
    bills = estimate.bills
    total = Bill(sum(one.requests for one in bills.values()), sum(one.tokens for one in bills.values()), estimate.usd)

    def show(cost: Cost, bill: Bill | None, seconds: float | None) -> tuple[str, ...]:
        time = _show(seconds, describe_seconds)
        if bill is None:
            return f"{cost.pairs:,}", f"{cost.tokens:,}", time
        return f"{cost.pairs:,}", f"{bill.requests:,}", f"{bill.tokens:,}", _show(bill.usd, describe_usd), time

    asked = ("requests", "tokens sent", "at most") if bills else ("tokens",)
    return Table(
        title="The most that the run costs",
        header=("phase", "pairs", *asked, "time"),
        rows=tuple(
            (phase.value, *show(cost, bills.get(phase), estimate.seconds_of(phase)))
            for phase, cost in estimate.phases.items()
        ),
        words=("phase",),
        footer=("total", *show(estimate.total, total if bills else None, estimate.seconds)),
        caption="at most: without the server's cache; answers on disk and repeated sets of examples cost nothing"
        if bills
        else "speed measured on a small sample; repeated sets of examples are scored once",
    )


def tabulate_presets(plans: Sequence[PresetPlan]) -> Table:
    """What a selection with each preset would do: a column for each, and a row for each figure that is known."""
    bills = [plan.bill for plan in plans]
    rows = [
        *(
            _list_row(name, [plan.counts and plan.counts[name] for plan in plans])
            for name in next((plan.counts for plan in plans if plan.counts is not None), ())
        ),
        _list_row("tokens", [plan.cost and plan.cost.tokens for plan in plans]),
        _list_row("requests", [bill and bill.requests for bill in bills]),
        _list_row("tokens sent", [bill and bill.tokens for bill in bills]),
        _list_row("at most", [bill and bill.usd for bill in bills], describe_usd),
        _list_row("usual time", [plan.seconds for plan in plans], describe_seconds),
    ]
    return Table(
        title="Presets: what the rows do, and the most that a run costs",
        header=("", *(plan.preset for plan in plans)),
        rows=tuple(row for row in rows if set(row[1:]) != {NOTHING}),
    )


def describe_presets(plans: Sequence[PresetPlan], sample: Paid | None) -> list[str]:
    """Where the time comes from, and which presets cannot be used: a sentence each."""
    sentences = []
    if any(plan.seconds is not None for plan in plans):
        sentences.append("The time is at the pace that was just measured on a small sample.")
        if sample is not None and sample.requests:
            has_prices = any(plan.bill is not None and plan.bill.usd is not None for plan in plans)
            sentences.append(_describe_sample(sample, has_prices=has_prices))
    refused = (plan for plan in plans if plan.refusal is not None)
    return [*sentences, *(f"{plan.preset} cannot be used: {plan.refusal}" for plan in refused)]


def _list_row(name: str, values: Sequence[Any], write: Callable[[Any], str] = "{:,}".format) -> tuple[str, ...]:
    return name, *(_show(value, write) for value in values)


def describe_estimate(estimate: CostEstimate) -> list[str]:
    """Limits of the budget below the estimate: a sentence each."""
    sentences = [
        f"The budget ends the run {limit}. The result is the best until then." for limit in _list_limits(estimate)
    ]
    if estimate.sample is not None and estimate.sample.requests:
        sentences.append(_describe_sample(estimate.sample, has_prices=estimate.usd is not None))
    return sentences


def _describe_sample(sample: Paid, *, has_prices: bool) -> str:
    """What the measuring of the speed took at a server."""
    money = f" and cost {describe_usd(sample.usd)}" if has_prices else ""
    asked = show_count(sample.requests, "request")
    return f"The speed was measured on a small sample, which took {asked}{money}; its answers are kept."


def _list_limits(estimate: CostEstimate) -> Iterator[str]:
    pairs, seconds = estimate.budget.max_pairs, estimate.budget.max_seconds
    if pairs is not None and pairs < estimate.total.pairs:
        first = estimate.phases.get(Phase.FILTER, Cost()).pairs
        early = f", before any set of examples is tried, which takes more than {first:,}" if pairs <= first else ""
        yield f"at {pairs:,} pairs (budget.max_pairs){early}"
    if seconds is not None and (estimate.seconds is None or seconds < estimate.seconds):
        yield f"after {describe_seconds(seconds)} (budget.max_seconds)"
    cost = estimate.budget.max_cost
    if cost is not None and estimate.usd is not None and cost < estimate.usd:
        yield f"at {describe_usd(cost)} (budget.max_cost)"


def _tabulate_rows(counts: RowCounts, fit_rows: int | None) -> Table:
    rows = [(name, f"{getattr(counts, name):,}") for name in ("labelled", "search", "judging", "test")]
    return Table(
        title="What the rows do",
        header=("", "rows"),
        rows=(*rows, ("fit rows", NOTHING if fit_rows is None else f"{fit_rows:,}")),
        caption="fit rows: judging rows and others; the classifier is fitted on them",
    )


def _show(value: Any, write: Callable[[Any], str]) -> str:
    return NOTHING if value is None else write(value)
