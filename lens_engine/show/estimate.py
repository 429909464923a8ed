"""What presets would cost, as a table and sentences."""

from collections.abc import Callable, Sequence
from typing import Any

from lens_engine.metering.estimate import PresetPlan
from lens_engine.model.spending import Paid
from lens_engine.prompt.wording import describe_seconds, describe_usd, show_count
from lens_engine.show.table import NOTHING, Table


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
            took = show_count(sample.requests, "request")
            took += f" and cost {describe_usd(sample.usd)}" if has_prices else ""
            sentences.append(f"The speed was measured on a small sample, which took {took}; its answers are kept.")
    for why in dict.fromkeys(plan.refusal for plan in plans if plan.refusal is not None):
        sentences.append(f"{', '.join(plan.preset for plan in plans if plan.refusal == why)} cannot be used: {why}")
    return sentences


def _list_row(name: str, values: Sequence[Any], write: Callable[[Any], str] = "{:,}".format) -> tuple[str, ...]:
    return name, *(NOTHING if value is None else write(value) for value in values)
