"""One accuracy against another: a dot for each, and the diagonal on which both are equal."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from experiments.findings.finding import Plot, as_sentence
from experiments.findings.spreads import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS, _MARKERS = ("#5b7fa8", "#e0a458", "#4f9a6b"), "os^"


@dataclass(frozen=True, slots=True)
class Points:
    """Dots of one colour: (x, y) each."""

    name: str
    places: tuple[tuple[float, float], ...]


def plot_scatter(title: str, points: Sequence[Points], *, x_label: str, y_label: str, diagonal: str) -> Plot:
    """Up to three series of dots; `diagonal` is the name of the line of equality in the legend."""
    return Plot(
        draw=partial(_draw, title=title, points=tuple(points), x_label=x_label, y_label=y_label, diagonal=diagonal),
        alternative=f"{as_sentence(title)} {'; '.join(_describe(one) for one in points)}.",
        size=(6.8, 5.4),
    )


def _describe(points: Points) -> str:
    across, up = zip(*points.places, strict=True)
    return (
        f"{points.name}: {len(up)} dots, across from {min(across):.3f} to {max(across):.3f}, "
        f"up from {min(up):.3f} to {max(up):.3f}, mean {mean(up):.3f}"
    )


def _draw(figure: "Figure", title: str, points: Sequence[Points], x_label: str, y_label: str, diagonal: str) -> None:
    axes: Axes = figure.subplots()
    for one, colour, marker in zip(points, _COLOURS, _MARKERS, strict=False):
        across, up = zip(*one.places, strict=True)
        axes.plot(across, up, marker, color=colour, markersize=5, alpha=0.7, label=one.name)
    across_all = [x for one in points for x, _ in one.places]
    ends = [min(across_all), max(across_all)]
    axes.plot(ends, ends, color="black", linewidth=1.0, label=diagonal)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    figure.suptitle(title, wrap=True)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
