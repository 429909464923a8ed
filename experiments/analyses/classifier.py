"""Whether the classifier is better than every cheap alternative on the same test rows, and what each size costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from experiments.analyses.analysis import Analysis, ByScale
from experiments.analyses.captions import describe_cells
from experiments.findings.finding import Table, Value
from experiments.findings.intervals import estimate_lead, estimate_mean
from experiments.findings.spreads import mean
from experiments.laboratory.laboratory import Laboratory
from experiments.scales import PAPER, TINY
from experiments.table.report import show_estimate, show_lead
from lens_engine.classifier.heads import HEAD_KINDS
from lens_engine.classifier.quality import Quality
from lens_engine.classifier.tested import ClassifierName, TestedClassifier
from lens_engine.presets import overlay_options
from lens_engine.result import SelectionResult

TestRows = str
"""Where the test rows come from: "file" or "held_out"."""

Results = dict[tuple[str, TestRows], list[SelectionResult]]
"""The results of every selection, by dataset and where the test rows come from, seed by seed."""

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

OURS: ClassifierName = "ensemble"

CLASSIFIERS: Mapping[ClassifierName, str] = {
    OURS: "ensemble",
    "support_examples": "support examples, argmax",
    "random_and_validation": "random-and-validation, argmax",
    "random_ensemble": "random ensemble",
    "random_prompts": "random prompts",
    "long_prompt": "long prompt",
    "zero_shot_head": "zero-shot head",
    "zero_shot": "zero-shot, argmax",
    "bag_of_words": "bag of words",
}
"""Our classifier and its rivals, with the names that the table shows."""


@dataclass(frozen=True)
class ClassifierAnalysis(Analysis[Results]):
    """Every selection with all its rivals, on test rows of the file and on rows like the upload."""

    test_rows: tuple[TestRows, ...] = ("file", "held_out")

    name: ClassVar[str] = "classifier"
    question: ClassVar[str] = "Is the classifier better than every cheap alternative?"
    caveat: ClassVar[str] = "Leads are paired: seed by seed, on the same test rows."
    scales: ClassVar[ByScale] = {
        "laptop": {"seeds": (0, 1, 2, 3, 4), "options": _AS_PUBLISHED},
        "paper": {"options": overlay_options(PAPER.options, _WHOLE)},
        "tiny": {"options": overlay_options(TINY.options, _WHOLE)},
    }
    sizes: ClassVar[ByScale] = {"tiny": {"test_rows": ("file",)}}

    def compute(self, lab: Laboratory) -> Results:
        """Seed by seed, so that each finished seed is a small table."""
        found: Results = {}
        for cell in self.selections:
            for rows in self.test_rows:
                bench = cell.bench.model_copy(update={"test_rows": rows})
                result = lab.select(bench.selection(cell.config), f"classifier, test rows {_SHOWN_ROWS[rows]}")
                found.setdefault((cell.bench.dataset, rows), []).append(result)
        return found

    def accuracies(self, found: Results) -> Sequence[Quality]:
        return [one.test for results in found.values() for result in results for one in result.tested]

    def tables(self, found: Results) -> tuple[Table, ...]:
        shown = (_classifiers(found), _frontier(found), _costs(found))
        return tuple(table for table in shown if table.rows)

    def describe(self, _found: Results) -> str:
        return (
            f"Classifiers of LENS and their rivals, found with {describe_cells(self.selections)}. Rivals get the same "
            "rows, the same budget and the same choice of size and head; docs/algorithm.md says what each is."
        )


def _classifiers(found: Results) -> Table:
    columns = (
        *("dataset", "test rows", "classifier", "accuracy (95 % interval)", "the ensemble is ahead by"),
        *("log-loss", "calibration error", "tokens an input"),
    )
    lines: list[tuple[Value, ...]] = []
    for rows in dict.fromkeys(rows for _, rows in found):
        by_dataset = {dataset: results for (dataset, where), results in found.items() if where == rows}
        strata = {dataset: [results] for dataset, results in by_dataset.items()}
        if len(strata) > 1:
            strata["mean"] = list(by_dataset.values())
        lines += [(dataset, _SHOWN_ROWS[rows], *line) for dataset, cells in strata.items() for line in _compare(cells)]
    return Table(columns, tuple(lines), "classifiers")


def _compare(strata: Sequence[Sequence[SelectionResult]]) -> Iterator[tuple[Value, ...]]:
    """A line for each classifier that every result has; the leads of ours are paired, seed by seed."""
    ours = [[one.test.accuracy for one in _read(OURS, results)] for results in strata]
    for name, shown in CLASSIFIERS.items():
        theirs = [_read(name, results) for results in strata]
        if not all(theirs):
            continue
        accuracies = [[one.test.accuracy for one in seeds] for seeds in theirs]
        yield (
            *(shown, show_estimate(estimate_mean(accuracies))),
            "–" if name == OURS else show_lead(estimate_lead(ours, accuracies)),
            *_means([one for seeds in theirs for one in seeds]),
        )


def _read(name: ClassifierName, results: Sequence[SelectionResult]) -> list[TestedClassifier]:
    """One for each seed; empty if a seed has none."""
    found = [one for result in results for one in result.tested if one.name == name]
    return found if len(found) == len(results) else []


def _means(found: Sequence[TestedClassifier]) -> tuple[Value, Value, Value]:
    """Log-loss, calibration error, and tokens an input where a head was fitted."""
    return (
        mean([one.test.log_loss for one in found]),
        mean([one.test.ece for one in found]),
        f"{mean([one.tokens_per_input for one in found]):,.0f}" if all(one.fit_rows for one in found) else None,
    )


def _frontier(found: Results) -> Table:
    columns = ("dataset", "prompts", *HEAD_KINDS, "proposed head", "tokens an input")
    lines: list[tuple[Value, ...]] = []
    for (dataset, rows), results in found.items():
        for size in range(min((len(result.frontier) for result in results), default=0)) if rows == "file" else ():
            points = [result.frontier[size] for result in results]
            heads = [
                [head.accuracy for point in points for head in point.heads if head.head == kind] for kind in HEAD_KINDS
            ]
            lines.append(
                (
                    *(dataset, size + 1),
                    *(mean(values) if values else None for values in heads),
                    mean([point.test.accuracy for point in points]),
                    f"{mean([point.tokens_per_input for point in points]):,.0f}",
                )
            )
    return Table(columns, tuple(lines), "frontier", "Accuracy by the number of prompts and the head:")


def _costs(found: Results) -> Table:
    lines = tuple(
        (
            *(dataset, _SHOWN_ROWS[rows], result.provenance.seed, result.cost.pairs, result.cost.tokens),
            *(f"{result.cost.seconds:.0f}", None if result.classifier is None else len(result.classifier.prompts)),
            None if result.verdict is None else result.verdict.use,
        )
        for (dataset, rows), results in found.items()
        for result in results
    )
    columns = ("dataset", "test rows", "seed", "pairs", "tokens", "seconds", "prompts", "verdict")
    return Table(columns, lines, "costs", "Cost of each run, rivals included:")
