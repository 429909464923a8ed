"""The table as a picture: a panel for each dataset, a line for each method, whiskers for the intervals."""

from functools import partial
from typing import TYPE_CHECKING

from experiments.findings.finding import Plot, show_share
from experiments.table.figures import MEAN, Measured, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {False: "#c1443c", True: "#3b6ea5"}
_MARKERS = {False: "o", True: "D"}
_NAMES = {False: "without calibration", True: "after contextual calibration"}
_OFFSET = 0.16  # of a line: with calibration below, without above


def plot_table(measured: Measured, size: str) -> Plot:
    """`size` says in words what a point is a mean of."""
    panels = len(measured.columns)
    return Plot(
        draw=partial(_draw, measured, size),
        alternative=_describe(measured),
        size=(3.0 + 2.6 * panels, 2.2 + 0.3 * len(measured.entries)),
    )


def _draw(measured: Measured, size: str, figure: "Figure") -> None:
    columns, names = measured.columns, [entry.name for entry in measured.entries]
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    points = list(measured.points())
    for axes, column in zip(panels, columns, strict=True):
        _draw_panel(axes, [point for point in points if point.column == column], names)
        axes.set_title("mean of the datasets" if column == MEAN else column, fontsize="medium")
        axes.set_xlabel("accuracy on the test rows")
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    has_intervals = any(point.estimate.bounds for point in points)
    whiskers = "whiskers: 95 % interval over seeds" if has_intervals else "one seed, so no intervals"
    figure.suptitle(f"Test accuracy of methods with {measured.scale.model}\n{size}; {whiskers}", fontsize="medium")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)


def _draw_panel(axes: "Axes", points: list[Point], names: list[str]) -> None:
    for place in range(0, len(names), 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#f2f2f2", linewidth=0)
    for calibrated in (False, True):
        chosen = [point for point in points if point.calibrated == calibrated]
        means = [point.estimate.mean for point in chosen]
        axes.errorbar(
            means,
            [names.index(point.entry) + (_OFFSET if calibrated else -_OFFSET) for point in chosen],
            xerr=_whiskers(chosen),
            fmt=_MARKERS[calibrated],
            color=_COLOURS[calibrated],
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=_NAMES[calibrated],
        )
    axes.grid(axis="x", linewidth=0.5, color="#cccccc")
    axes.set_axisbelow(True)


def _whiskers(points: list[Point]) -> tuple[list[float], list[float]]:
    """Lengths to the left and to the right, within what an accuracy can be; none where there is no interval."""
    found = [(one.estimate.mean, one.estimate.bounds or (one.estimate.mean, one.estimate.mean)) for one in points]
    return [mean - max(low, 0.0) for mean, (low, _) in found], [min(high, 1.0) - mean for mean, (_, high) in found]


def _describe(measured: Measured) -> str:
    """The last panel's means in words."""
    column = measured.columns[-1]
    means = [
        f"{point.entry} {show_share(point.estimate.mean)}"
        for point in measured.points()
        if point.column == column and not point.calibrated
    ]
    where = "mean of the datasets" if column == MEAN else column
    return f"Accuracy of each method with its 95 % interval, a panel for each dataset; {where}: {'; '.join(means)}"
