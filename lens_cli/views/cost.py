"""The expected cost of a run as a table."""

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from lens_cli.views.progress import describe_seconds
from lens_engine.config import PresetName
from lens_engine.metering.cost import Cost
from lens_engine.pricing.estimate import CostEstimate

_NOTHING = "–"


def show_estimates(estimates: Mapping[PresetName, CostEstimate], console: Console) -> None:
    """Print cost and rows of runs of the same dataset, side by side by the names of their presets."""
    console.print(build_estimate_table(estimates))
    if all(estimate.splits is not None for estimate in estimates.values()):
        console.print(build_rows_table(estimates))
    for name, estimate in estimates.items():
        for limit in _list_limits(estimate):
            console.print(f"The budget ends {name} {limit}, with the best examples found until then.")
    words_accuracy = next(iter(estimates.values())).words_accuracy
    if words_accuracy is not None:
        console.print(
            f"A bag of words on the labelled rows of this run has an accuracy of {words_accuracy:.3f} by "
            "cross-validation and takes a second. If that is enough, use it."
        )


def _list_limits(estimate: CostEstimate) -> Iterator[str]:
    """Limits of the budget below the estimate."""
    pairs, seconds = estimate.budget.max_pairs, estimate.budget.max_seconds
    if pairs is not None and pairs < estimate.total.pairs:
        yield f"at {pairs:,} pairs (budget.max_pairs)"
    if seconds is not None and (estimate.seconds is None or seconds < estimate.seconds):
        yield f"after {describe_seconds(seconds)} (budget.max_seconds)"


def build_estimate_table(estimates: Mapping[PresetName, CostEstimate]) -> Table:
    """One line per phase, and the total below. Several estimates are shown without tokens."""
    columns = ["phase"]
    lines: dict[str, list[str]] = {}
    total: list[str] = []
    for name, estimate in estimates.items():
        is_alone = len(estimates) == 1
        columns += ["pairs", "tokens", "time"] if is_alone else [f"{name}: pairs", "time"]
        for phase, cost in estimate.phases.items():
            lines.setdefault(phase.value, []).extend(_cells(cost, estimate.seconds_of(phase), with_tokens=is_alone))
        total += _cells(estimate.total, estimate.seconds, with_tokens=is_alone)
    caption = "speed measured on a small sample; repeated permutations are scored once"
    return cost_table("Expected cost of the run", caption, columns, lines, total=total)


def build_rows_table(estimates: Mapping[PresetName, CostEstimate]) -> Table:
    """The number of rows in each split."""
    title = "Rows of each split"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, caption_justify="left")
    table.caption = "fit rows: validation rows, confirmation rows and others; the head is fitted on them"
    table.add_column("split")
    for name in estimates:
        table.add_column("rows" if len(estimates) == 1 else name, justify="right")
    for split in ("test", "validation", "confirmation", "score_set", "candidates"):
        table.add_row(split.replace("_", " "), *(f"{getattr(one.splits, split):,}" for one in estimates.values()))
    table.add_row(
        "fit rows", *(_NOTHING if one.fit_rows is None else f"{one.fit_rows:,}" for one in estimates.values())
    )
    return table


def cost_table(
    title: str, caption: str, columns: Sequence[str], lines: Mapping[str, Sequence[str]], *, total: Sequence[str]
) -> Table:
    """A table of costs: a name in the first column, figures in the others, and the total below."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    table.add_column(columns[0], footer="total")
    for name, footer in zip(columns[1:], total, strict=True):
        table.add_column(name, footer=footer, justify="right")
    for name, cells in lines.items():
        table.add_row(name, *cells)
    return table


def _cells(cost: Cost, seconds: float | None, *, with_tokens: bool) -> list[str]:
    tokens = [f"{cost.tokens:,}"] if with_tokens else []
    return [f"{cost.pairs:,}", *tokens, _NOTHING if seconds is None else describe_seconds(seconds)]
