"""The expected cost of a run as a table."""

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table

from lens_cli.views.progress import describe_seconds
from lens_engine.metering.cost import Cost
from lens_engine.pricing.estimate import CostEstimate
from lens_engine.result import Splits

_NOTHING = "–"


def show_estimate(estimate: CostEstimate, console: Console) -> None:
    """Print the cost of a run and the rows of its splits."""
    console.print(_build_estimate_table(estimate))
    if estimate.splits is not None:
        console.print(_build_rows_table(estimate.splits, estimate.fit_rows))
    for limit in _list_limits(estimate):
        console.print(f"The budget ends the run {limit}, with the best examples found until then.")
    if estimate.words_accuracy is not None:
        console.print(
            f"A bag of words on the labelled rows of this run has an accuracy of {estimate.words_accuracy:.3f} by "
            "cross-validation and takes a second. If that is enough, use it."
        )


def _list_limits(estimate: CostEstimate) -> Iterator[str]:
    """Limits of the budget below the estimate."""
    pairs, seconds = estimate.budget.max_pairs, estimate.budget.max_seconds
    if pairs is not None and pairs < estimate.total.pairs:
        yield f"at {pairs:,} pairs (budget.max_pairs)"
    if seconds is not None and (estimate.seconds is None or seconds < estimate.seconds):
        yield f"after {describe_seconds(seconds)} (budget.max_seconds)"


def _build_estimate_table(estimate: CostEstimate) -> Table:
    """One line per phase, and the total below."""
    table = _table(
        "Expected cost of the run", "speed measured on a small sample; repeated permutations are scored once"
    )
    table.show_footer = True
    total = _cells(estimate.total, estimate.seconds)
    table.add_column("phase", footer="total")
    for name, footer in zip(("pairs", "tokens", "time"), total, strict=True):
        table.add_column(name, footer=footer, justify="right")
    for phase, cost in estimate.phases.items():
        table.add_row(phase.value, *_cells(cost, estimate.seconds_of(phase)))
    return table


def _build_rows_table(splits: Splits, fit_rows: int | None) -> Table:
    table = _table(
        "Rows of each split", "fit rows: validation rows, confirmation rows and others; the head is fitted on them"
    )
    table.add_column("split")
    table.add_column("rows", justify="right")
    for split in ("test", "validation", "confirmation", "score_set", "candidates"):
        table.add_row(split.replace("_", " "), f"{getattr(splits, split):,}")
    table.add_row("fit rows", _NOTHING if fit_rows is None else f"{fit_rows:,}")
    return table


def _table(title: str, caption: str) -> Table:
    style = {"title_justify": "left", "title_style": "bold", "caption_justify": "left"}
    return Table(title=title, caption=caption, box=box.SIMPLE_HEAD, **style)  # type: ignore[arg-type]


def _cells(cost: Cost, seconds: float | None) -> list[str]:
    return [f"{cost.pairs:,}", f"{cost.tokens:,}", _NOTHING if seconds is None else describe_seconds(seconds)]
