"""How much does the order matter, for support and for random examples? As Li & Qiu (2023) compare them."""

from dataclasses import dataclass
from typing import ClassVar

from experiments.analyses.analysis import FOUR_SEEDS, SMALL, Analysis, ByScale
from experiments.analyses.example_sets import RANDOM, SUPPORT, draw_random_sets, evaluate_sets, reorder, support_set
from experiments.findings.finding import Table, Value
from experiments.findings.spreads import SPREAD_COLUMNS, mean, sample_sd, show_rows, spread_values
from experiments.laboratory.cells import Bench, CalibratedAccuracy, SelectionCell
from experiments.laboratory.laboratory import Laboratory


@dataclass(frozen=True, slots=True)
class OrderedSet:
    """One set of examples in several orders."""

    bench: Bench
    kind: str
    own: CalibratedAccuracy  #: in the order that was found or drawn
    shuffled: tuple[CalibratedAccuracy, ...]


@dataclass(frozen=True)
class Order(Analysis[list[OrderedSet]]):
    """The support examples of each selection, and one random set of its candidates, in random orders."""

    orders: int = 8  #: of each set

    name: ClassVar[str] = "order"
    question: ClassVar[str] = "Does the order matter less for support examples than for random ones?"
    scales: ClassVar[ByScale] = {
        "laptop": {"datasets": ("sst-2",), "seeds": (0, 1, 2, 3), "note": SMALL},
        "paper": FOUR_SEEDS,
    }
    sizes: ClassVar[ByScale] = {"tiny": {"orders": 3}}

    def compute(self, lab: Laboratory) -> list[OrderedSet]:
        return [one for cell in self.selections for one in self._judge(lab, cell)]

    def accuracies(self, found: list[OrderedSet]) -> list[CalibratedAccuracy]:
        return [accuracy for one in found for accuracy in one.shuffled]

    def tables(self, found: list[OrderedSet]) -> tuple[Table, ...]:
        return _summarise(found), _list_sets(found)

    def describe(self, found: list[OrderedSet]) -> str:  # noqa: ARG002
        return (
            f"{self.origin} Each set of support examples, and a random set of the same candidates for each, in "
            f"{self.orders} random orders. The demonstrations of a set stay the same: the sd is over its orders."
        )

    def _judge(self, lab: Laboratory, cell: SelectionCell) -> list[OrderedSet]:
        found: list[OrderedSet] = []
        support = support_set(lab, cell, lab.select(cell))
        (drawn,) = draw_random_sets(lab, cell, 1)
        for kind, examples in ((SUPPORT, support), (RANDOM, drawn)):
            (own,) = evaluate_sets(lab, cell, [examples], kind)
            shuffled = evaluate_sets(lab, cell, reorder(examples, cell.bench.seed, self.orders), f"{kind}, order")
            found.append(OrderedSet(cell.bench, kind, own, shuffled))
        return found


def _summarise(found: list[OrderedSet]) -> Table:
    """Over the sets of a kind: the mean of their means, and of their sds."""
    rows = list[tuple[Value, ...]]()
    for kind in (SUPPORT, RANDOM):
        sets = [one.shuffled for one in found if one.kind == kind]
        judged = [accuracy for orders in sets for accuracy in orders]
        values = [[accuracy.accuracy for accuracy in orders] for orders in sets]
        spreads = [spread for orders in values if (spread := sample_sd(orders)) is not None]
        spread = mean(spreads) if spreads else None
        worst = min(map(min, values))
        rows.append((kind, mean(list(map(mean, values))), spread, worst, len(sets), len(judged), show_rows(judged)))
    columns = ("examples", "mean accuracy", "mean sd over orders", "worst order", "sets", "orders", "test rows")
    return Table(columns, tuple(rows), name="summary", caption="Over all sets:")


def _list_sets(found: list[OrderedSet]) -> Table:
    rows = tuple(
        (one.bench.dataset, one.kind, one.bench.seed, one.own.accuracy, *spread_values(one.shuffled)) for one in found
    )
    columns = ("dataset", "examples", "seed", "own order", *SPREAD_COLUMNS)
    return Table(columns, rows, name="sets", caption="Each set; *own order* is the one that was found, or drawn:")
