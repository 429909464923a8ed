"""Accuracies as dots: a column for each group, a bar at its mean, whiskers of one standard deviation.

Every accuracy is shown, so that a mean never hides its spread.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.findings.finding import Plot, as_sentence
from experiments.findings.spreads import mean, sample_sd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUPPORT, RANDOM = "support examples", "random examples"

COLOURS = {SUPPORT: "#c1443c", RANDOM: "#5b7fa8"}
OTHER_COLOURS = ("#4f9a6b", "#e0a458", "#8a6fb0", "#777777")
_DOTS_WIDTH, _BAR_WIDTH = 0.5, 0.7
"""Widths; a column is one wide. Dots stand side by side, so that equal ones stay visible."""
_LINE = 11
"""Characters of a line under a column, unless a word is longer."""
_INCHES_PER_CHARACTER = 0.085


@dataclass(frozen=True, slots=True)
class Group:
    """A column of dots."""

    name: str  #: label under the column
    kind: str  #: name of the colour in the legend
    accuracies: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Groups side by side."""

    title: str
    x_label: str
    groups: tuple[Group, ...]


def plot_strips(title: str, panels: Sequence[Panel], y_label: str, name: str = "") -> Plot:
    """Panels beside each other that share the axis of accuracy, with one legend for all."""
    columns = sum(len(panel.groups) + 1 for panel in panels)
    longest = max(len(line) for panel in panels for group in panel.groups for line in _wrap(group.name).splitlines())
    width = max(0.7, _INCHES_PER_CHARACTER * (longest + 1))  # of a column
    return Plot(
        draw=partial(_draw_strips, title=title, panels=tuple(panels), y_label=y_label),
        alternative=describe_strips(title, panels),
        name=name,
        size=(max(6.5, 1.0 + width * columns), 4.8),
    )


def describe_strips(title: str, panels: Sequence[Panel]) -> str:
    """The means in words."""
    parts = [
        f"{panel.title}: " + ", ".join(f"{name} {mean(group.accuracies):.3f}" for name, group in _name_groups(panel))
        for panel in panels
    ]
    return f"{as_sentence(title)} Mean accuracies. {'; '.join(parts)}."


def _draw_strips(figure: "Figure", title: str, panels: Sequence[Panel], y_label: str) -> None:
    widths = [len(panel.groups) + 1 for panel in panels]
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False, width_ratios=widths)[0]
    colours = _choose_colours(panels)
    for axes, panel in zip(row, panels, strict=True):
        _draw_panel(axes, panel, colours)
    row[0].set_ylabel(y_label)
    figure.suptitle(title, wrap=True)
    _draw_legend(figure, row, list(colours))


def _choose_colours(panels: Sequence[Panel]) -> dict[str, str]:
    kinds = dict.fromkeys(group.kind for panel in panels for group in panel.groups)
    others = iter(OTHER_COLOURS)
    return {kind: COLOURS[kind] if kind in COLOURS else next(others) for kind in kinds}


def _draw_panel(axes: "Axes", panel: Panel, colours: dict[str, str]) -> None:
    for place, group in enumerate(panel.groups):
        _draw_group(axes, place, group, colours[group.kind])
    names = [_wrap(group.name) for group in panel.groups]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.7, len(names) - 0.3)
    axes.set_xlabel(panel.x_label)
    axes.set_title(panel.title, fontsize="medium")
    axes.grid(axis="y", linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)


def _wrap(name: str) -> str:
    """Break into short lines, after hyphens too: names of models have no spaces."""
    return textwrap.fill(name.replace("-", "- "), _LINE, break_long_words=False).replace("- ", "-")


def _draw_group(axes: "Axes", place: int, group: Group, colour: str) -> None:
    count, centre = len(group.accuracies), mean(group.accuracies)
    offsets = np.linspace(-_DOTS_WIDTH / 2, _DOTS_WIDTH / 2, count) if count > 1 else np.zeros(1)
    axes.plot(place + offsets, group.accuracies, "o", color=colour, markersize=4, alpha=0.75, label=group.kind)
    ends = (place - _BAR_WIDTH / 2, place + _BAR_WIDTH / 2)
    axes.hlines(centre, *ends, color="black", linewidth=1.6, label="mean")
    spread = sample_sd(group.accuracies)
    if spread is not None:
        axes.errorbar(place, centre, spread, color="black", linewidth=0.9, capsize=4, label="one standard deviation")


def _draw_legend(figure: "Figure", row: Sequence["Axes"], kinds: list[str]) -> None:
    """Each entry once, the colours first."""
    entries: dict[str, Any] = dict.fromkeys(kinds)
    for axes in row:
        handles, labels = axes.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    entry_inches = _INCHES_PER_CHARACTER * (max(map(len, entries)) + 6)  # the sample and the gaps beside the text
    columns = max(1, int(figure.get_figwidth() / entry_inches))
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _name_groups(panel: Panel) -> list[tuple[str, Group]]:
    """Groups with their names; the kind is added if two groups of the panel have the same name."""
    names = [group.name for group in panel.groups]
    if len(set(names)) < len(names):
        names = [f"{name} ({group.kind})" for name, group in zip(names, panel.groups, strict=True)]
    return list(zip(names, panel.groups, strict=True))
