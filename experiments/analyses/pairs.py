"""Are two good examples good together? Pairs of examples that classify well alone, as in Li & Qiu's Table 1 (2023)."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from experiments.analyses.captions import describe_cells, describe_rows
from experiments.analyses.example_sets import ExampleSet, as_set, evaluate_sets
from experiments.findings.finding import Finding, Plot, Table, Value
from experiments.findings.spreads import mean, sample_sd, show_rows
from experiments.laboratory.cells import Demonstration, SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.scatter import Points, plot_scatter
from lens_engine.randomness import make_generator
from lens_engine.result import Accuracy
from lens_engine.rows.quotas import count_labels, share_equally
from lens_engine.types import Example

TITLE = "Are two examples that are good alone good together?"
SAME, DIFFERENT = "two of the same label", "two of different labels"
_TEXT_CHARACTERS = 70


@dataclass(frozen=True, slots=True)
class PairsPlan:
    """Of `singles` candidates of a selection's splits, the `best` alone are put together in pairs."""

    selection: SelectionCell
    singles: int = 32
    best: int = 8
    shown: int = 5  #: pairs at either end of the table


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


def run(lab: Laboratory, plan: PairsPlan) -> Finding:
    """Judge singles, then every ordered pair of the best ones, on the test rows.

    Raises:
        LensError: as `Laboratory.evaluate`.
    """
    singles = _judge_singles(lab, plan)
    pairs = _judge_pairs(lab, plan.selection, choose_best(singles, lab.problem(plan.selection).task.labels, plan.best))
    return Finding(
        name="pairs",
        title=TITLE,
        tables=(_summarise(singles, pairs), _list_ends(pairs, plan.shown)),
        plots=(_plot(plan, pairs),),
        notes=(
            f"{describe_cells([plan.selection])}: {len(singles)} candidates were each judged as the one demonstration, "
            f"and the {plan.best} best, label by label, put together in every pair and both orders: {len(pairs)} "
            "prompts of two demonstrations.",
            f"{describe_rows([pair.together for pair in pairs])} The best were chosen by the same rows, which flatters "
            "what they are said to be worth alone by a part of that.",
        ),
    )


def choose_best(singles: Sequence[Single], labels: Sequence[str], count: int) -> list[Single]:
    """The `count` most accurate, as many of each label as can be; of equal ones the earlier."""
    by_label = {label: [one for one in singles if one.demonstration.label == label] for label in labels}
    quotas = share_equally(count, {label: len(those) for label, those in by_label.items()})
    ranked = {label: sorted(those, key=lambda one: -one.alone.accuracy) for label, those in by_label.items()}
    return [one for label, quota in quotas.items() for one in ranked[label][:quota]]


def _judge_singles(lab: Laboratory, plan: PairsPlan) -> list[Single]:
    drawn = _draw(lab, plan.selection, plan.singles)
    alone = evaluate_sets(lab, plan.selection, [(one,) for one in drawn], "alone")
    return [Single(one, accuracy) for one, accuracy in zip(drawn, alone, strict=True)]


def _draw(lab: Laboratory, cell: SelectionCell, count: int) -> ExampleSet:
    """Candidates drawn at random, as many of each label as can be."""
    candidates, labels = lab.rows(cell).candidates, lab.problem(cell).task.labels
    left = share_equally(count, count_labels(candidates, labels))
    drawn = list[Example]()
    for index in make_generator(cell.config.seed, "experiments.pairs").permutation(len(candidates)).tolist():
        if left[candidates[index].label]:
            left[candidates[index].label] -= 1
            drawn.append(candidates[index])
    return as_set(drawn)


def _judge_pairs(lab: Laboratory, cell: SelectionCell, best: Sequence[Single]) -> list[Pair]:
    """Every two, in both orders."""
    ordered = list(permutations(best, 2))
    sets = [(first.demonstration, second.demonstration) for first, second in ordered]
    together = evaluate_sets(lab, cell, sets, "pair")
    return [Pair(first, second, accuracy) for (first, second), accuracy in zip(ordered, together, strict=True)]


def _summarise(singles: Sequence[Single], pairs: Sequence[Pair]) -> Table:
    """What was judged, and how often a pair is worse than both of its two alone."""
    rows = [
        ("alone, all that were drawn", *_spread([one.alone for one in singles]), None),
        ("alone, the best", *_spread([one.alone for one in dict.fromkeys(pair.first for pair in pairs)]), None),
    ]
    for kind in (DIFFERENT, SAME):
        those = [pair for pair in pairs if pair.kind == kind]
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


def _plot(plan: PairsPlan, pairs: Sequence[Pair]) -> Plot:
    points = [
        Points(kind, tuple((pair.mean_alone, pair.together.accuracy) for pair in pairs if pair.kind == kind))
        for kind in (DIFFERENT, SAME)
    ]
    rows = show_rows([pair.together for pair in pairs])
    return plot_scatter(
        f"{TITLE}\n{plan.selection.bench.dataset}, {len(pairs)} prompts",
        [one for one in points if one.places],
        x_label=f"mean accuracy of the two alone, {rows} test rows",
        y_label=f"accuracy of both together, {rows} test rows",
        diagonal="as good together as alone",
    )
