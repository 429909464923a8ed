"""From the measured figures to a finding: tables and notes."""

from collections.abc import Sequence

from lab.experiments.findings.finding import Finding, Table, Value, show_share
from lab.experiments.findings.intervals import Estimate
from lab.experiments.table.entries import ENTRY_NOTES, Entry
from lab.experiments.table.figures import Measured


def report(measured: Measured, machines: Sequence[str]) -> Finding:
    """`machines` name the devices and number formats of the selections."""
    return Finding(
        name="table",
        title=f"Accuracy of methods, {measured.scale.model}",
        tables=(
            _wide("accuracy", "Without calibration:", measured, calibrated=False),
            _wide("calibrated", "After contextual calibration:", measured, calibrated=True),
            _long(measured),
        ),
        notes=(_describe(measured, machines), _explain(measured), *ENTRY_NOTES),
    )


def show_estimate(found: Estimate) -> str:
    """The mean, with its interval in brackets, cut at 0 and 1."""
    if found.bounds is None:
        return show_share(found.mean)
    return f"{found.mean:.3f} ({max(found.bounds[0], 0.0):.3f}–{min(found.bounds[1], 1.0):.3f})"


def show_lead(found: Estimate) -> str:
    shown = f"{found.mean:+.3f}"
    return shown if found.bounds is None else f"{shown} ({found.bounds[0]:+.3f} to {found.bounds[1]:+.3f})"


def _wide(name: str, caption: str, measured: Measured, *, calibrated: bool) -> Table:
    """For people: a column for each dataset."""
    lens = measured.lens

    def show_row(entry: Entry) -> tuple[Value, ...]:
        means = [measured.estimate(entry, column, calibrated=calibrated) for column in measured.columns]
        row = (entry.name, *map(show_estimate, means))
        if lens is None:
            return row
        lead = measured.lead(lens, entry, measured.columns[-1], calibrated=calibrated)
        return (*row, "–" if entry == lens else show_lead(lead))

    header = ("method", *measured.columns, *(["LENS is ahead by"] if lens else []))
    return Table(header, tuple(map(show_row, measured.entries)), name, caption, in_csv=False)


def _long(measured: Measured) -> Table:
    """For programs: a line for each mean."""
    header = ("method", "dataset", "calibrated", "mean", "low", "high", "seeds", "templates")
    counts = len(measured.scale.seeds), len(measured.scale.templates)
    rows = list[tuple[Value, ...]]()
    for entry in measured.entries:
        for column in measured.columns:
            for calibrated in (False, True):
                found = measured.estimate(entry, column, calibrated=calibrated)
                said = "yes" if calibrated else "no"
                rows.append((entry.name, column, said, found.mean, *(found.bounds or (None, None)), *counts))
    return Table(header, tuple(rows), in_page=False)


def _describe(measured: Measured, machines: Sequence[str]) -> str:
    scale, (least, most) = measured.scale, measured.rows_judged()
    patterns = ", ".join(f"`{pattern}` ({names})" for pattern, names in _templates(measured).items())
    rows = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return (
        f"{scale.note} Model `{scale.model}` ({', '.join(machines)}); datasets {', '.join(scale.datasets)}; "
        f"templates {patterns}; seeds {', '.join(map(str, scale.seeds))}; {_count(len(scale.seeds), 'seed')}, "
        f"{_count(len(scale.templates), 'template')}, {rows} test rows each."
    )


def _templates(measured: Measured) -> dict[str, str]:
    """The datasets of each pattern."""
    found: dict[str, dict[str, None]] = {}
    for bench in measured.benches:
        found.setdefault(bench.template, {})[bench.dataset] = None
    return {pattern: ", ".join(names) for pattern, names in found.items()}


def _explain(measured: Measured) -> str:
    text = (
        "A figure is the mean over seeds of accuracy on test rows (over templates first, where there are several)"
        + (", and the last mean is over datasets. " if len(measured.scale.datasets) > 1 else ". ")
        + "In brackets the 95 % interval of Student's t from the spread over seeds within each dataset; datasets and "
        "templates count as given, not as drawn."
    )
    if measured.lens is not None:
        text += " The last column compares LENS with each row seed by seed, and its interval is that of the difference."
    return text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
