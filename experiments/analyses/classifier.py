"""Whether the classifier is better than every cheap alternative, at each size, and what each part of it adds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from experiments.analyses.analysis import Analysis, ByScale
from experiments.analyses.captions import describe_cells, label_accuracy
from experiments.findings.finding import Plot, Table, Value
from experiments.findings.intervals import estimate_mean
from experiments.findings.spreads import mean
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.strips import Group, Panel, plot_strips
from experiments.scales import PAPER, TINY
from experiments.table.entries import LETTER, SCRIPTS, Entry
from experiments.table.report import show_estimate, show_lead
from lens_engine.classifier.heads import HEAD_KINDS
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.presets import overlay_options
from lens_engine.result import ClassifierName, SelectionResult, TestedClassifier

TestRows = str
"""Where the test rows come from: "file" or "held_out"."""

_SHOWN_ROWS = {"file": "the dataset's own", "held_out": "like the upload"}

_WHOLE: dict[str, Any] = {
    "search": {"objective": "head"},
    "classifier": {"max_prompts": 5, "head": "auto", "fit_rows": 800},
    "comparisons": "all",
}
"""The classifier and all its rivals, over a scale whose selections are single prompts."""

_AS_PUBLISHED: dict[str, Any] = {
    "filtering": {"candidates": 128},
    "search": {"objective": "head", "first_permutations": 40, "halvings": 2, "iterations": 1},
    "comparisons": "all",
}
"""The sizes that the preset `quick` had when the published tables were measured, and every rival."""

ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "search by accuracy": {"search": {"objective": "accuracy"}},
    "without a bag of words": {"classifier": {"head": "linear"}},
    "validation and confirmation rows only": {"classifier": {"fit_rows": 0}},
}
"""What is changed in each ablation, by name."""


READINGS: tuple[Entry, ...] = (LETTER, SCRIPTS)
"""Other readings of the method, whose single prompt is given the same choice of head."""

_ONE_PROMPT: dict[str, Any] = {
    "search": {"objective": "accuracy"},
    "classifier": {"max_prompts": 1, "head": "auto"},
    "comparisons": "none",
}


class Contender(NamedTuple):
    """A row of the table: how its figures are read from a result."""

    name: str
    quality: Callable[[SelectionResult], Accuracy | None]
    tokens: Callable[[SelectionResult], float | None]


def _tested(name: ClassifierName, shown: str | None = None) -> Contender:
    def find(result: SelectionResult) -> TestedClassifier | None:
        return next((one for one in result.tested if one.name == name), None)

    return Contender(
        shown or name.replace("_", " "),
        lambda result: result.quality_of(name),
        lambda result: None if (found := find(result)) is None or not found.fit_rows else found.tokens_per_input,
    )


CONTENDERS: tuple[Contender, ...] = (
    _tested("ensemble"),
    _tested("support_examples", "support examples, argmax"),
    _tested("random_and_validation", "random-and-validation, argmax"),
    _tested("random_ensemble"),
    _tested("random_prompts"),
    _tested("long_prompt"),
    _tested("zero_shot_head"),
    _tested("zero_shot", "zero-shot, argmax"),
    _tested("bag_of_words"),
)


@dataclass(frozen=True)
class Results:
    """The results of every cell, by dataset and where the test rows come from, seed by seed."""

    whole: dict[tuple[str, TestRows], list[SelectionResult]]
    ablated: dict[str, dict[str, list[SelectionResult]]]  #: by ablation, then by dataset
    readings: dict[str, dict[str, list[SelectionResult]]]  #: by reading, then by dataset


@dataclass(frozen=True)
class ClassifierAnalysis(Analysis[Results]):
    """Every selection with all its rivals; on test rows of the file and on rows like the upload; and ablations."""

    test_rows: tuple[TestRows, ...] = ("file", "held_out")
    ablations: tuple[str, ...] = tuple(ABLATIONS)
    readings: tuple[str, ...] = tuple(entry.name for entry in READINGS)

    name: ClassVar[str] = "classifier"
    question: ClassVar[str] = "Is the classifier better than every cheap alternative?"
    caveat: ClassVar[str] = "Leads are paired: seed by seed, on the same test rows."
    scales: ClassVar[ByScale] = {
        "laptop": {
            "seeds": (0, 1, 2, 3, 4),
            "options": _AS_PUBLISHED,
        },
        "paper": {"options": overlay_options(PAPER.options, _WHOLE)},
        "tiny": {"options": overlay_options(TINY.options, _WHOLE)},
    }
    sizes: ClassVar[ByScale] = {
        "tiny": {"test_rows": ("file",), "ablations": ("search by accuracy",), "readings": (SCRIPTS.name,)}
    }

    def compute(self, lab: Laboratory) -> Results:
        """Seed by seed, so that each finished seed is a small table."""
        whole: dict[tuple[str, TestRows], list[SelectionResult]] = {}
        ablated: dict[str, dict[str, list[SelectionResult]]] = {name: {} for name in self.ablations}
        entries = [entry for entry in READINGS if entry.name in self.readings]
        readings: dict[str, dict[str, list[SelectionResult]]] = {entry.name: {} for entry in entries}
        for cell in self.selections:
            for rows in self.test_rows:
                bench = cell.bench.model_copy(update={"test_rows": rows})
                result = lab.select(bench.selection(cell.config), f"classifier, test rows {_SHOWN_ROWS[rows]}")
                whole.setdefault((cell.bench.dataset, rows), []).append(result)
            for name in self.ablations:
                found = ablated[name].setdefault(cell.bench.dataset, [])
                found.append(lab.select(_ablate(cell, name), name))
            for entry in entries:
                found = readings[entry.name].setdefault(cell.bench.dataset, [])
                found.append(lab.select(_read(cell, entry), f"{entry.name}, one prompt with head"))
        return Results(whole, ablated, readings)

    def accuracies(self, found: Results) -> Sequence[Accuracy]:
        return [
            figure
            for results in found.whole.values()
            for result in results
            for contender in CONTENDERS
            if (figure := contender.quality(result)) is not None
        ]

    def tables(self, found: Results) -> tuple[Table, ...]:
        changed = (
            _against_whole(found, found.ablated, "ablations", "The classifier without one of its parts:"),
            _against_whole(
                found,
                found.readings,
                "readings",
                "The single prompt of other readings of the method, with a head:",
            ),
        )
        shown = (self._contenders(found), self._frontier(found), *changed, self._costs(found))
        return tuple(table for table in shown if table.rows)

    def plots(self, found: Results) -> tuple[Plot, ...]:
        panels = [
            Panel(
                f"{dataset}, test rows {_SHOWN_ROWS[rows]}",
                "contender",
                tuple(
                    Group(contender.name, "classifier" if contender is CONTENDERS[0] else "rival", accuracies)
                    for contender in CONTENDERS
                    if (accuracies := _accuracies(contender, results))
                ),
            )
            for (dataset, rows), results in found.whole.items()
        ]
        return (plot_strips(self.question, panels, label_accuracy(self.accuracies(found))),)

    def describe(self, _found: Results) -> str:
        return (
            f"Classifiers of LENS and their rivals, found with {describe_cells(self.selections)}. Rivals get the same "
            "rows, the same budget and the same choice of size and head; docs/algorithm.md says what each is."
        )

    def _contenders(self, found: Results) -> Table:
        columns = (
            *("dataset", "test rows", "contender", "accuracy (95 % interval)", "the classifier is ahead by"),
            *("log-loss", "calibration error", "tokens an input"),
        )
        lines: list[tuple[Value, ...]] = []
        for rows in dict.fromkeys(rows for _, rows in found.whole):
            by_dataset = {dataset: results for (dataset, where), results in found.whole.items() if where == rows}
            strata = {dataset: [results] for dataset, results in by_dataset.items()}
            if len(strata) > 1:
                strata["mean"] = list(by_dataset.values())
            lines += [
                (dataset, _SHOWN_ROWS[rows], *line) for dataset, cells in strata.items() for line in _compare(cells)
            ]
        return Table(columns, tuple(lines), "contenders")

    def _frontier(self, found: Results) -> Table:
        columns = ("dataset", "prompts", *HEAD_KINDS, "proposed head", "tokens an input")
        lines: list[tuple[Value, ...]] = []
        for (dataset, rows), results in found.whole.items():
            for size in range(min((len(result.frontier) for result in results), default=0)) if rows == "file" else ():
                points = [result.frontier[size] for result in results]
                heads = {
                    kind: [head.accuracy for point in points for head in point.heads if head.head == kind]
                    for kind in HEAD_KINDS
                }
                lines.append(
                    (
                        *(dataset, size + 1),
                        *(mean(values) if values else None for values in heads.values()),
                        mean([point.test.accuracy for point in points]),
                        f"{mean([point.tokens_per_input for point in points]):,.0f}",
                    )
                )
        return Table(columns, tuple(lines), "frontier", "Accuracy by the number of prompts and the head:")

    def _costs(self, found: Results) -> Table:
        lines = tuple(
            (
                *(dataset, _SHOWN_ROWS[rows], result.provenance.seed, result.cost.pairs, result.cost.tokens),
                *(f"{result.cost.seconds:.0f}", None if result.classifier is None else len(result.classifier.prompts)),
                *(None if result.verdict is None else result.verdict.use,),
            )
            for (dataset, rows), results in found.whole.items()
            for result in results
        )
        columns = ("dataset", "test rows", "seed", "pairs", "tokens", "seconds", "prompts", "verdict")
        return Table(columns, lines, "costs", "Cost of each run, rivals included:")


def _ablate(cell: SelectionCell, name: str) -> SelectionCell:
    config = cell.config
    merged = overlay_options(config.model_dump(), {"comparisons": "none"}, ABLATIONS[name])
    return cell.bench.selection(type(config).model_validate(merged))


def _read(cell: SelectionCell, entry: Entry) -> SelectionCell:
    config = cell.config
    merged = overlay_options(entry.lay_over(config).model_dump(), _ONE_PROMPT)
    return cell.bench.selection(type(config).model_validate(merged))


def _against_whole(
    found: Results, others: Mapping[str, Mapping[str, Sequence[SelectionResult]]], name: str, caption: str
) -> Table:
    """The classifier of each other selection, on the same test rows as the whole."""
    lines: list[tuple[Value, ...]] = []
    for other, by_dataset in others.items():
        for dataset, results in by_dataset.items():
            accuracies = _accuracies(CONTENDERS[0], results)
            own = _accuracies(CONTENDERS[0], found.whole[dataset, "file"])
            change = [one - whole for one, whole in zip(accuracies, own, strict=True)]
            lines.append(
                (other, dataset, show_estimate(estimate_mean([accuracies])), show_lead(estimate_mean([change])))
            )
    columns = ("classifier", "dataset", "accuracy (95 % interval)", "against the whole")
    return Table(columns, tuple(lines), name, caption)


def _accuracies(contender: Contender, results: Sequence[SelectionResult]) -> tuple[float, ...]:
    """One for each seed; empty if a seed has none."""
    found = [contender.quality(result) for result in results]
    figures = [one.accuracy for one in found if one is not None]
    return tuple(figures) if len(figures) == len(results) else ()


def _compare(strata: Sequence[Sequence[SelectionResult]]) -> Iterator[tuple[Value, ...]]:
    """A line for each contender that every result has; the leads of the classifier are paired, seed by seed."""
    own = [_accuracies(CONTENDERS[0], results) for results in strata]
    for contender in CONTENDERS:
        accuracies = [_accuracies(contender, results) for results in strata]
        if not all(accuracies):
            continue
        leads = [[one - other for one, other in zip(*pair, strict=True)] for pair in zip(own, accuracies, strict=True)]
        yield (
            *(contender.name, show_estimate(estimate_mean(accuracies))),
            "–" if contender is CONTENDERS[0] else show_lead(estimate_mean(leads)),
            *_means(contender, [result for results in strata for result in results]),
        )


def _means(contender: Contender, results: Sequence[SelectionResult]) -> tuple[Value, Value, Value]:
    """Log-loss, calibration error and tokens an input, where the contender has them."""
    qualities = [one for result in results if isinstance(one := contender.quality(result), Quality)]
    tokens = [count for result in results if (count := contender.tokens(result)) is not None]
    return (
        mean([one.log_loss for one in qualities]) if qualities else None,
        mean([one.ece for one in qualities]) if qualities else None,
        f"{mean(tokens):,.0f}" if tokens else None,
    )
