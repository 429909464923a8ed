"""The paper's main table: methods × datasets × templates × seeds, with and without calibration."""

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from lab.experiments.data.tasks import FindDataset
from lab.experiments.findings.finding import Finding
from lab.experiments.laboratory.cells import Bench, SelectionCell
from lab.experiments.laboratory.laboratory import Laboratory
from lab.experiments.scales import Scale
from lab.experiments.table.entries import NUM_RANDOM, Entry
from lab.experiments.table.example_sets import draw_random_sets, evaluate_sets, support_set
from lab.experiments.table.figures import Figure, Measured
from lab.experiments.table.report import report
from lens_engine.errors import InvalidConfig
from lens_engine.result import SelectionResult


@dataclass(frozen=True)
class TablePlan:
    """The cells of a table."""

    scale: Scale
    entries: tuple[Entry, ...]
    find_dataset: FindDataset

    @cached_property
    def benches(self) -> list[Bench]:
        """
        Raises:
            InvalidDataset, InvalidConfig: a dataset or a template does not exist.
        """
        return self.scale.benches(self.find_dataset)

    def cell(self, entry: Entry, bench: Bench) -> SelectionCell:
        """The cell that an entry reads its figure from; two entries may share one."""
        return bench.selection(entry.config(self.scale, self.find_dataset(bench.dataset).settings))

    def cells(self) -> dict[SelectionCell, str]:
        """Each cell once, in the order of computing, with the name of the first entry that reads it.

        Raises:
            InvalidDataset, InvalidConfig: a dataset, template or option does not exist.
        """
        named: dict[SelectionCell, str] = {}
        for bench in self.benches:
            for entry in self.entries:
                named.setdefault(self.cell(entry, bench), entry.name)
        return named

    def run(self, lab: Laboratory) -> Finding:
        """Compute the missing cells, and show the table.

        Raises:
            LensError: as `Laboratory.select`; finished cells stay in the store.
        """
        results = {cell: lab.select(cell, title) for cell, title in self.cells().items()}
        figures = {
            (entry.name, bench): measure(lab, entry, self.cell(entry, bench), results[self.cell(entry, bench)])
            for bench in self.benches
            for entry in self.entries
        }
        machines = {f"{result.provenance.dtype} on {result.provenance.device}" for result in results.values()}
        return report(Measured(self.scale, self.entries, self.benches, figures), sorted(machines))


def measure(lab: Laboratory, entry: Entry, cell: SelectionCell, result: SelectionResult) -> Figure:
    """The entry's figure on the test rows, plain and calibrated. The pair cache has most of the scores.

    Raises:
        InvalidConfig: a budget ended the run before the test rows.
        LensError: as `Laboratory.evaluate`.
    """
    if result.test is None:
        raise InvalidConfig(
            f"the budget of {entry.name!r} ended before the test rows; raise it", field="options.budget"
        )
    is_random = entry.reads == "random"
    sets = draw_random_sets(lab, cell, NUM_RANDOM) if is_random else [support_set(lab, cell, result)]
    found = evaluate_sets(lab, cell, sets, entry.name)
    calibrated = fmean(one.calibrated_accuracy for one in found)
    return Figure(accuracy=fmean(one.accuracy for one in found), calibrated=calibrated, n=result.test.n)
