"""The figures of the paper's table: means with intervals, a page for people and CSV for programs."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lab.experiments.cells import Figure
from lab.experiments.entries import LENS, Entry, make_entries
from lab.experiments.sizes import Bench, Size

MEAN = "mean"
"""The column that is the mean of the datasets."""

_CONFIDENCE = 0.95


class Estimate(NamedTuple):
    """A mean with its 95 % interval; no bounds where a dataset has a single seed, or no seed differs from another."""

    mean: float
    bounds: tuple[float, float] | None


def estimate_mean(strata: Sequence[Sequence[float]]) -> Estimate:
    """The mean over strata (datasets) of the means within them (over seeds).

    The interval is Student's, from the spread within each stratum; the strata themselves count as fixed.
    Degrees of freedom after Welch and Satterthwaite.
    """
    mean = float(np.mean([np.mean(values) for values in strata]))
    if any(len(values) < 2 for values in strata):
        return Estimate(mean, None)
    variances = np.array([np.var(values, ddof=1) / len(values) for values in strata])
    if not variances.any():  # as for a prompt that always gives one label: stratified test rows leave no spread
        return Estimate(mean, None)
    from scipy.stats import t  # heavy; only a finished table needs it

    freedoms = np.array([len(values) - 1 for values in strata])
    degrees = variances.sum() ** 2 / (variances**2 / freedoms).sum()
    half = float(t.ppf((1 + _CONFIDENCE) / 2, degrees) * np.sqrt(variances.sum()) / len(variances))
    return Estimate(mean, (mean - half, mean + half))


@dataclass(frozen=True)
class Measured:
    """Every entry on every bench."""

    size: Size
    entries: Sequence[Entry]
    benches: Sequence[Bench]
    figures: Mapping[tuple[str, Bench], Figure]  #: by entry's name and bench

    @property
    def columns(self) -> tuple[str, ...]:
        """The datasets, and their mean if there are several."""
        datasets = self.size.datasets
        return (*datasets, MEAN) if len(datasets) > 1 else datasets

    @property
    def lens(self) -> Entry | None:
        """The row that the others are compared with, where the table has it."""
        name = make_entries(self.size.many_rows)[LENS].name
        return next((entry for entry in self.entries if entry.name == name), None)

    def estimate(self, entry: Entry, column: str, *, calibrated: bool) -> Estimate:
        """An entry's mean over the seeds of a dataset, or of all datasets if `column` is `MEAN`."""
        return estimate_mean(self._strata(entry, column, calibrated))

    def lead(self, entry: Entry, rival: Entry, column: str, *, calibrated: bool) -> Estimate:
        """How far `entry` is ahead of `rival`, each seed compared with itself."""
        pairs = zip(*(self._strata(one, column, calibrated) for one in (entry, rival)), strict=True)
        return estimate_mean([np.subtract(*pair).tolist() for pair in pairs])

    def _strata(self, entry: Entry, column: str, calibrated: bool) -> list[list[float]]:
        """The values of each dataset of a column, seed by seed."""
        datasets = self.size.datasets if column == MEAN else (column,)
        return [self._seeds(entry, dataset, calibrated) for dataset in datasets]

    def _seeds(self, entry: Entry, dataset: str, calibrated: bool) -> list[float]:
        """For each seed the mean over templates: templates are chosen, seeds are drawn."""
        found: dict[int, list[float]] = {}
        for bench in self.benches:
            if bench.dataset == dataset:
                figure = self.figures[entry.name, bench]
                found.setdefault(bench.seed, []).append(figure.calibrated if calibrated else figure.accuracy)
        return [float(np.mean(values)) for values in found.values()]


def render_page(measured: Measured) -> str:
    """Title, notes and a table for people: a column for each dataset."""
    tables = [_table("Without calibration:", measured, calibrated=False)]
    tables.append(_table("After contextual calibration:", measured, calibrated=True))
    title = f"# Accuracy of methods, {measured.size.model}"
    return "\n\n".join((title, _describe(measured), *tables)) + "\n"


def render_csv(measured: Measured) -> str:
    """A line for each mean, with every digit; no bounds are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("method", "dataset", "calibrated", "mean", "low", "high", "seeds", "templates"))
    counts = len(measured.size.seeds), len(measured.size.templates)
    for entry in measured.entries:
        for column in measured.columns:
            for word, calibrated in (("no", False), ("yes", True)):
                found = measured.estimate(entry, column, calibrated=calibrated)
                writer.writerow((entry.name, column, word, found.mean, *(found.bounds or ("", "")), *counts))
    return text.getvalue()


def _table(caption: str, measured: Measured, *, calibrated: bool) -> str:
    lens = measured.lens
    header = ("method", *measured.columns, *(["LENS is ahead by"] if lens else []))
    rows = [header, ["---"] * len(header)]
    for entry in measured.entries:
        means = [measured.estimate(entry, column, calibrated=calibrated) for column in measured.columns]
        cells = [entry.name, *map(_show_estimate, means)]
        if lens is not None:
            lead = measured.lead(lens, entry, measured.columns[-1], calibrated=calibrated)
            cells.append("–" if entry == lens else _show_lead(lead))
        rows.append(cells)
    return "\n".join([caption, "", *(f"| {' | '.join(cells)} |" for cells in rows)])


def _show_estimate(found: Estimate) -> str:
    """The mean, with its interval in brackets, cut at 0 and 1."""
    if found.bounds is None:
        return f"{found.mean:.3f}"
    return f"{found.mean:.3f} ({max(found.bounds[0], 0.0):.3f}–{min(found.bounds[1], 1.0):.3f})"


def _show_lead(found: Estimate) -> str:
    shown = f"{found.mean:+.3f}"
    return shown if found.bounds is None else f"{shown} ({found.bounds[0]:+.3f} to {found.bounds[1]:+.3f})"


def _describe(measured: Measured) -> str:
    size, figures = measured.size, measured.figures.values()
    machines = ", ".join(sorted({figure.machine for figure in figures}))
    least, most = min(figure.n for figure in figures), max(figure.n for figure in figures)
    patterns = ", ".join(dict.fromkeys(f"`{bench.template}` ({bench.dataset})" for bench in measured.benches))
    return (
        f"{size.note} Model `{size.model}` ({machines}); templates {patterns}; seeds "
        f"{', '.join(map(str, size.seeds))}; {least:,} to {most:,} test rows each. A figure is the mean over seeds of "
        "accuracy on test rows, over templates first; the last mean is over datasets. In brackets the 95 % interval of "
        "Student's t from the spread over seeds within each dataset; datasets and templates count as given, not as "
        "drawn. The last column compares LENS with each row seed by seed, and its interval is that of the difference."
    )
