"""How much does the order matter, for support and for random examples? As Li & Qiu (2023) compare them."""

from dataclasses import dataclass

from experiments.analyses.captions import datasets_of, describe_cells, describe_rows
from experiments.analyses.example_sets import ExampleSet, draw_random_sets, evaluate_sets, reorder, support_set
from experiments.findings.finding import Finding, Plot, Table, Value
from experiments.findings.spreads import SPREAD_COLUMNS, mean, sample_sd, show_rows, spread_values
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.strips import RANDOM, SUPPORT, Group, Panel, plot_strips
from lens_engine.result import Accuracy

TITLE = "Does the order matter less for support examples than for random ones?"


@dataclass(frozen=True, slots=True)
class OrderPlan:
    """Each selection gives a set of support examples, and its candidates a random set."""

    selections: tuple[SelectionCell, ...]
    orders: int = 8


@dataclass(frozen=True, slots=True)
class OrderedSet:
    """One set of examples in several orders."""

    cell: SelectionCell
    kind: str
    own: Accuracy  #: in the order that was found or drawn
    shuffled: tuple[Accuracy, ...]

    @property
    def accuracies(self) -> tuple[float, ...]:
        return tuple(one.accuracy for one in self.shuffled)

    @property
    def seed(self) -> int:
        return self.cell.bench.seed


def run(lab: Laboratory, plan: OrderPlan) -> Finding:
    """Judge every set in `plan.orders` random orders on the test rows.

    Raises:
        LensError: as `Laboratory.select` and `Laboratory.evaluate`.
    """
    found = [one for cell in plan.selections for one in _measure(lab, cell, plan.orders)]
    return Finding(
        name="order",
        title=TITLE,
        tables=(_summarise(found), _list_sets(found)),
        plots=(_plot(plan, found),),
        notes=(
            f"Support examples found with {describe_cells(plan.selections)}. "
            f"Each set of support examples, and a random set of the same candidates "
            f"for each, in {plan.orders} random orders. The demonstrations of a set stay the same: whiskers and sd are "
            "over its orders.",
            describe_rows([accuracy for one in found for accuracy in one.shuffled]),
        ),
    )


def _measure(lab: Laboratory, cell: SelectionCell, orders: int) -> list[OrderedSet]:
    support = support_set(lab.select(cell))
    (drawn,) = draw_random_sets(lab, cell, 1)
    return [_shuffle(lab, cell, kind, one, orders) for kind, one in ((SUPPORT, support), (RANDOM, drawn))]


def _shuffle(lab: Laboratory, cell: SelectionCell, kind: str, examples: ExampleSet, orders: int) -> OrderedSet:
    (own,) = evaluate_sets(lab, cell, [examples], kind)
    shuffled = evaluate_sets(lab, cell, reorder(examples, cell.bench.seed, orders), f"{kind}, order")
    return OrderedSet(cell, kind, own, shuffled)


def _summarise(found: list[OrderedSet]) -> Table:
    """Over the sets of a kind: the mean of their means, and of their sds."""
    rows = list[tuple[Value, ...]]()
    for kind in (SUPPORT, RANDOM):
        sets = [one for one in found if one.kind == kind]
        spreads = [spread for one in sets if (spread := sample_sd(one.accuracies)) is not None]
        means = [mean(one.accuracies) for one in sets]
        everything = [accuracy for one in sets for accuracy in one.shuffled]
        worst = min(accuracy.accuracy for accuracy in everything)
        spread = mean(spreads) if spreads else None
        rows.append((kind, mean(means), spread, worst, len(sets), len(everything), show_rows(everything)))
    columns = ("examples", "mean accuracy", "mean sd over orders", "worst order", "sets", "orders", "test rows")
    return Table(columns, tuple(rows), name="summary", caption="Over all sets:")


def _list_sets(found: list[OrderedSet]) -> Table:
    rows = tuple(
        (one.cell.bench.dataset, one.kind, one.seed, one.own.accuracy, *spread_values(one.shuffled)) for one in found
    )
    columns = ("dataset", "examples", "seed", "own order", *SPREAD_COLUMNS)
    return Table(columns, rows, name="sets", caption="Each set; *own order* is the one that was found, or drawn:")


def _plot(plan: OrderPlan, found: list[OrderedSet]) -> Plot:
    panels = [_panel(dataset, cells, found, plan.orders) for dataset, cells in datasets_of(plan.selections).items()]
    rows = show_rows([accuracy for one in found for accuracy in one.shuffled])
    return plot_strips(TITLE, panels, f"accuracy on {rows} test rows")


def _panel(dataset: str, cells: list[SelectionCell], found: list[OrderedSet], orders: int) -> Panel:
    groups = tuple(
        Group(f"seed {one.seed}", kind, one.accuracies)
        for kind in (SUPPORT, RANDOM)
        for one in found
        if one.kind == kind and one.cell in cells
    )
    return Panel(f"{dataset}: {orders} random orders of each set", "set of examples", groups)
