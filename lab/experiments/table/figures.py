"""The figures of a finished table, and their means over templates, seeds and datasets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.experiments.findings.intervals import Estimate, estimate_lead, estimate_mean
from lab.experiments.laboratory.cells import Bench
from lab.experiments.scales import Scale
from lab.experiments.table.entries import LENS, Entry, make_entries
from lens_engine.types import Record

MEAN = "mean"
"""The column that is the mean of the datasets."""


class Figure(Record):
    """What one entry reached on one bench."""

    accuracy: float
    calibrated: float
    n: int


@dataclass(frozen=True)
class Measured:
    """Every entry on every bench."""

    scale: Scale
    entries: tuple[Entry, ...]
    benches: Sequence[Bench]
    figures: dict[tuple[str, Bench], Figure]  #: by entry's name and bench

    @property
    def columns(self) -> tuple[str, ...]:
        """The datasets, and their mean if there are several."""
        datasets = self.scale.datasets
        return (*datasets, MEAN) if len(datasets) > 1 else datasets

    @property
    def lens(self) -> Entry | None:
        """The row that the others are compared with, where the table has it."""
        lens = make_entries(self.scale)[LENS]
        return lens if lens in self.entries else None

    def estimate(self, entry: Entry, column: str, *, calibrated: bool) -> Estimate:
        """An entry's mean over the seeds of a dataset, or of all datasets if `column` is `MEAN`."""
        return estimate_mean(self._strata(entry, column, calibrated))

    def lead(self, entry: Entry, rival: Entry, column: str, *, calibrated: bool) -> Estimate:
        """How far `entry` is ahead of `rival`, each seed compared with itself."""
        return estimate_lead(self._strata(entry, column, calibrated), self._strata(rival, column, calibrated))

    def rows_judged(self) -> tuple[int, int]:
        """The least and the most test rows behind a figure."""
        counts = [figure.n for figure in self.figures.values()]
        return min(counts), max(counts)

    def _strata(self, entry: Entry, column: str, calibrated: bool) -> list[list[float]]:
        """The values of each dataset of a column, seed by seed."""
        datasets = self.scale.datasets if column == MEAN else (column,)
        return [self._seeds(entry, dataset, calibrated) for dataset in datasets]

    def _seeds(self, entry: Entry, dataset: str, calibrated: bool) -> list[float]:
        """For each seed the mean over templates: templates are chosen, seeds are drawn."""
        found: dict[int, list[float]] = {}
        for bench in self.benches:
            if bench.dataset == dataset:
                figure = self.figures[entry.name, bench]
                found.setdefault(bench.seed, []).append(figure.calibrated if calibrated else figure.accuracy)
        return [float(np.mean(values)) for values in found.values()]
