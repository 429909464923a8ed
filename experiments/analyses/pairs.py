"""Are two good examples good together? Pairs of examples that classify well alone, as in Li & Qiu's Table 1 (2023)."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

from experiments.analyses.analysis import ONE_SELECTION, Analysis, ByScale
from experiments.analyses.captions import describe_cells
from experiments.analyses.example_sets import ExampleSet, as_set, evaluate_sets
from experiments.findings.finding import Plot, Table, Value
from experiments.findings.spreads import mean, sample_sd, show_rows
from experiments.laboratory.cells import Demonstration, SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.scatter import Points, plot_scatter
from lens_engine.classifier.quality import Accuracy
from lens_engine.errors import InvalidConfig
from lens_engine.randomness import make_generator
from lens_engine.rows.quotas import count_labels, share_equally
from lens_engine.types import Example

SAME, DIFFERENT = "two of the same label", "two of different labels"
_TEXT_CHARACTERS = 70


@dataclass(frozen=True, slots=True)
class Single:
    """An example as the only demonstration."""

    demonstration: Demonstration
    alone: Accuracy


@dataclass(frozen=True, slots=True)
class Pair:
    """Two examples in this order."""

    first: Single
    second: Single
    together: Accuracy

    @property
    def mean_alone(self) -> float:
        return mean([self.first.alone.accuracy, self.second.alone.accuracy])

    @property
    def worse_alone(self) -> float:
        return min(self.first.alone.accuracy, self.second.alone.accuracy)

    @property
    def kind(self) -> str:
        return SAME if self.first.demonstration.label == self.second.demonstration.label else DIFFERENT


@dataclass(frozen=True, slots=True)
class Judged:
    """Every single example and every pair that was judged."""

    singles: tuple[Single, ...]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Pairs(Analysis[Judged]):
    """Some candidates of one selection, each judged alone; then every ordered pair of the best of them.

    Raises:
        InvalidConfig: there is no selection, or there are several.
    """

    singles: int = 32  #: candidates that are judged alone
    best: int = 8  #: of them, those that are put together
    shown: int = 5  #: pairs at either end of the table

    name: ClassVar[str] = "pairs"
    question: ClassVar[str] = "Are two examples that are good alone good together?"
    caveat: ClassVar[str] = (
        "The best were chosen by the same rows, which flatters what they are said to be worth alone by a part of that."
    )
    scales: ClassVar[ByScale] = {
        "laptop": ONE_SELECTION,
        "paper": {"datasets": ("sst-2",), "templates": (0,), "seeds": (0,)},
    }
    sizes: ClassVar[ByScale] = {"tiny": {"singles": 6, "best": 4}, "paper": {"singles": 200, "best": 16}}

    def __post_init__(self) -> None:
        if len(self.selections) != 1:
            raise InvalidConfig(
                f"pairs are of one selection, and these are {len(self.selections)}; name one dataset, one template and "
                "one seed",
                field="datasets",
            )

    @property
    def cell(self) -> SelectionCell:
        """The one selection."""
        return self.selections[0]

    def compute(self, lab: Laboratory) -> Judged:
        singles = self._judge_singles(lab)
        best = choose_best(singles, lab.problem(self.cell).task.labels, self.best)
        return Judged(singles, _judge_pairs(lab, self.cell, best))

    def accuracies(self, found: Judged) -> list[Accuracy]:
        """Those of the pairs."""
        return [pair.together for pair in found.pairs]

    def tables(self, found: Judged) -> tuple[Table, ...]:
        return _summarise(found), _list_ends(found.pairs, self.shown)

    def plots(self, found: Judged) -> tuple[Plot, ...]:
        points = [
            Points(kind, tuple((pair.mean_alone, pair.together.accuracy) for pair in found.pairs if pair.kind == kind))
            for kind in (DIFFERENT, SAME)
        ]
        rows = show_rows(self.accuracies(found))
        return (
            plot_scatter(
                f"{self.question}\n{self.cell.bench.dataset}, {len(found.pairs)} prompts",
                [one for one in points if one.places],
                x_label=f"mean accuracy of the two alone, {rows} test rows",
                y_label=f"accuracy of both together, {rows} test rows",
                diagonal="as good together as alone",
            ),
        )

    def describe(self, found: Judged) -> str:
        return (
            f"{describe_cells(self.selections)}: {len(found.singles)} candidates were each judged as the one "
            f"demonstration, and the {self.best} best, label by label, put together in every pair and both orders: "
            f"{len(found.pairs)} prompts of two demonstrations."
        )

    def _judge_singles(self, lab: Laboratory) -> tuple[Single, ...]:
        drawn = _draw(lab, self.cell, self.singles)
        alone = evaluate_sets(lab, self.cell, [(one,) for one in drawn], "alone")
        return tuple(Single(one, accuracy) for one, accuracy in zip(drawn, alone, strict=True))


def choose_best(singles: Sequence[Single], labels: Sequence[str], count: int) -> list[Single]:
    """The `count` most accurate, spread evenly over the labels; of equal ones the earlier."""
    by_label = {label: [one for one in singles if one.demonstration.label == label] for label in labels}
    quotas = share_equally(count, {label: len(those) for label, those in by_label.items()})
    ranked = {label: sorted(those, key=lambda one: -one.alone.accuracy) for label, those in by_label.items()}
    return [one for label, quota in quotas.items() for one in ranked[label][:quota]]


def _draw(lab: Laboratory, cell: SelectionCell, count: int) -> ExampleSet:
    """Candidates drawn at random, spread evenly over the labels."""
    candidates, labels = lab.rows(cell).candidates, lab.problem(cell).task.labels
    left = share_equally(count, count_labels(candidates, labels))
    drawn = list[Example]()
    for index in make_generator(cell.config.seed, "experiments.pairs").permutation(len(candidates)).tolist():
        if left[candidates[index].label]:
            left[candidates[index].label] -= 1
            drawn.append(candidates[index])
    return as_set(drawn)


def _judge_pairs(lab: Laboratory, cell: SelectionCell, best: Sequence[Single]) -> tuple[Pair, ...]:
    """Every two of the best, in both orders."""
    ordered = list(permutations(best, 2))
    sets = [(first.demonstration, second.demonstration) for first, second in ordered]
    together = evaluate_sets(lab, cell, sets, "pair")
    return tuple(Pair(first, second, accuracy) for (first, second), accuracy in zip(ordered, together, strict=True))


def _summarise(found: Judged) -> Table:
    """Accuracies of singles and of pairs, and how often a pair is worse than both of its examples alone."""
    rows = [
        ("alone, all that were drawn", *_spread([one.alone for one in found.singles]), None),
        ("alone, the best", *_spread([one.alone for one in dict.fromkeys(pair.first for pair in found.pairs)]), None),
    ]
    for kind in (DIFFERENT, SAME):
        those = [pair for pair in found.pairs if pair.kind == kind]
        if those:
            worse = mean([pair.together.accuracy < pair.worse_alone for pair in those])
            rows.append((f"together, {kind}", *_spread([pair.together for pair in those]), worse))
    columns = ("demonstrations", "mean", "sd", "least", "most", "prompts", "test rows", "worse than both alone")
    return Table(
        columns,
        tuple(rows),
        name="summary",
        caption="Accuracies, and the share of pairs worse than both of their two alone:",
    )


def _spread(accuracies: Sequence[Accuracy]) -> tuple[Value, ...]:
    values = [one.accuracy for one in accuracies]
    return mean(values), sample_sd(values), min(values), max(values), len(values), show_rows(accuracies)


def _list_ends(pairs: Sequence[Pair], shown: int) -> Table:
    """The worst and the best pairs."""
    ranked = sorted(pairs, key=lambda pair: pair.together.accuracy)
    ends = ranked if len(ranked) <= 2 * shown else [*ranked[:shown], *ranked[-shown:]]
    columns = ("together", "other order", "first", "alone", "second", "alone (second)")
    orders = {(pair.first, pair.second): pair for pair in pairs}
    rows = tuple(_row(pair, orders[pair.second, pair.first]) for pair in ends)
    return Table(columns, rows, name="examples", caption="The worst pairs and the best ones, the worst first:")


def _row(pair: Pair, turned: Pair) -> tuple[Value, ...]:
    return (
        pair.together.accuracy,
        turned.together.accuracy,
        _show(pair.first.demonstration),
        pair.first.alone.accuracy,
        _show(pair.second.demonstration),
        pair.second.alone.accuracy,
    )


def _show(demonstration: Demonstration) -> str:
    return f"{textwrap.shorten(demonstration.text, _TEXT_CHARACTERS, placeholder=' …')} → {demonstration.label}"
