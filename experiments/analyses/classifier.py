"""Both answers of a run: single prompts for both uses, and the candidates for the classifier."""

from collections.abc import Iterator, Sequence
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
from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.quality import Quality
from lens_engine.config import USES, MethodName, Use
from lens_engine.presets import overlay_options
from lens_engine.result import SelectionResult

TestRows = str
"""Where the test rows come from: "file" or "held_out"."""

Results = dict[tuple[str, TestRows], list[SelectionResult]]
"""The results of every selection, by dataset and where the test rows come from, seed by seed."""

_SHOWN_ROWS = {"file": "the dataset's own", "held_out": "like the upload"}

_WHOLE: dict[str, Any] = {"classifier": {"kind": "auto"}, "comparisons": "usual"}
"""Both answers with their comparisons, over a scale whose selections are single prompts."""

CONTENDERS: tuple[MethodName, ...] = ("lens", "random_and_validation", "zero_shot")
"""The single prompts that are compared; random-and-validation costs what LENS does, filtering included."""

_CHOSEN = "chosen by cross-validation"


@dataclass(frozen=True)
class ClassifierAnalysis(Analysis[Results]):
    """Every selection with both answers, on test rows of the file and on rows like the upload."""

    test_rows: tuple[TestRows, ...] = ("file", "held_out")

    name: ClassVar[str] = "classifier"
    question: ClassVar[str] = "Is each answer better than what it is compared with?"
    caveat: ClassVar[str] = "Leads are paired: seed by seed, on the same test rows."
    scales: ClassVar[ByScale] = {
        "laptop": {"seeds": (0, 1, 2, 3, 4), "options": {"comparisons": "usual"}},
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
        results = [result for results in found.values() for result in results]
        return [one.test for result in results for one in result.tested if one.test is not None]

    def tables(self, found: Results) -> tuple[Table, ...]:
        shown = (_prompts(found), _candidates(found), _costs(found))
        return tuple(table for table in shown if table.rows)

    def describe(self, _found: Results) -> str:
        return (
            f"Single prompts and classifiers, found with {describe_cells(self.selections)}. Random-and-validation has "
            "the same rows and at the same cost, filtering included."
        )


def _prompts(found: Results) -> Table:
    lines = [
        (dataset, _SHOWN_ROWS[rows], *line)
        for (dataset, rows), results in found.items()
        for use in USES
        for line in _compare(results, use)
    ]
    columns = ("dataset", "test rows", "use", "prompt", "accuracy (95 % interval)", "Lens is ahead by", "log-loss")
    return Table(columns, tuple(lines), "prompts", "Single prompts:")


def _compare(results: Sequence[SelectionResult], use: Use) -> Iterator[tuple[Value, ...]]:
    """A line for each prompt that every result tested; leads are paired, seed by seed."""
    ours = [one.accuracy for one in _read("lens", results, use)]
    for method in CONTENDERS:
        theirs = _read(method, results, use)
        if len(theirs) == len(results):
            accuracies = [one.accuracy for one in theirs]
            lead = "–" if method == "lens" else show_lead(estimate_lead([ours], [accuracies]))
            log_loss = mean([one.log_loss for one in theirs])
            yield use, method, show_estimate(estimate_mean([accuracies])), lead, log_loss


def _read(method: MethodName, results: Sequence[SelectionResult], use: Use) -> list[Quality]:
    answers = [one for result in results for one in result.support_examples if one.use == use]
    contenders = [one for answer in answers for one in answer.contenders if one.method == method]
    return [one.test for one in contenders if one.test is not None]


def name_candidate(one: TestedClassifier) -> str:
    """A name under which candidates of several runs are compared."""
    if one.name == "states":
        return "hidden states, one prompt" if one.demonstrations else "hidden states, zero-shot"
    if one.name == "label_probabilities":
        return f"label probabilities, {one.prompts} prompt{'s' * (one.prompts > 1)}"
    return "bag of words"


def _candidates(found: Results) -> Table:
    lines = list[tuple[Value, ...]]()
    for (dataset, rows), results in found.items():
        by_name = dict[str, list[TestedClassifier]]()
        for one in (one for result in results for one in result.tested):
            by_name.setdefault(name_candidate(one), []).append(one)
            if one.is_chosen:
                by_name.setdefault(_CHOSEN, []).append(one)
        lines += [(dataset, _SHOWN_ROWS[rows], name, *_figures(tested)) for name, tested in by_name.items()]
    columns = (
        *("dataset", "test rows", "classifier", "accuracy (95 % interval)", "log-loss", "calibration error"),
        *("cross-validated log-loss", "tokens an input", "tokens held"),
    )
    return Table(columns, tuple(lines), "classifiers", "Candidates for the classifier:")


def _figures(tested: Sequence[TestedClassifier]) -> tuple[Value, ...]:
    tests = [one.test for one in tested if one.test is not None]
    return (
        show_estimate(estimate_mean([[test.accuracy for test in tests]])),
        mean([test.log_loss for test in tests]),
        mean([test.ece for test in tests]),
        mean([one.cross_validated.log_loss for one in tested]),
        f"{mean([one.tokens_per_input for one in tested]):,.0f}",
        f"{mean([one.tokens_held for one in tested]):,.0f}",
    )


def _costs(found: Results) -> Table:
    lines = tuple(
        (
            *(dataset, _SHOWN_ROWS[rows], result.provenance.seed, result.cost.pairs, result.cost.tokens),
            *(f"{result.cost.seconds:.0f}", result.answer.method),
            next((name_candidate(one) for one in result.tested if one.is_chosen), None),
        )
        for (dataset, rows), results in found.items()
        for result in results
    )
    columns = ("dataset", "test rows", "seed", "pairs", "tokens", "seconds", "prompt of", "classifier")
    return Table(columns, lines, "costs", "Cost of each run, comparisons included:")
