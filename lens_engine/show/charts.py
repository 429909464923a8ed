"""Charts as SVG, for reports, pages and notebooks.

A chart fits a phone: a name stands above its mark, or below the chart. The chart of the accuracies has a wide form too,
with the names at its left; the stylesheet shows the one that fits. Colours come from the stylesheet by class; shapes
and figures tell the same without them. A chart has no style of its own, because a strict content security policy
forbids it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from lens_engine.prompt.wording import shorten, show_percent, show_share
from lens_engine.show.axes import Axis, fit_shares
from lens_engine.show.svg import WIDTH, write_frame, write_line, write_mark, write_name, write_text

_LEFT, _RIGHT = 30, 344
_TOP, _BOTTOM = 20, 190
"""Ends of the plot of a chart with two axes. Labels of the vertical axis stand before it."""

_PLOT = 230
"""End of the plot of a chart whose figures stand beside it."""

_LINE, _ROW = 16, 38
"""Heights of a line of text, and of a name with its mark."""

_NAME = 64
"""Longest name on a line of its own (characters)."""

_WIDE, _WIDE_NAMES, _WIDE_ROW, _WIDE_NAME = 880, 370, 30, 48
"""Width of a wide chart, end of its names, height of its lines, and its longest name (characters)."""

_RIGHT_ANSWERS = "Right answers, with the 95 % range"


class Bar(NamedTuple):
    """A share of right answers with its 95 % range."""

    label: str
    value: float
    low: float
    high: float
    n: int = 0  #: number of rows
    is_prompt: bool = False  #: a square, or else a circle
    is_chosen: bool = False  #: filled


class Bin(NamedTuple):
    """Answers of about the same probability."""

    probability: float  #: mean
    accuracy: float
    rows: int


def draw_accuracies(lines: Sequence[Bar], *, name: str = "accuracies") -> Markup:
    """A figure a line: twice, for a phone and for a wide page.

    Args:
        name: part of the ids; each chart of a page needs another.
    """
    told = [f"{one.label}: {_interval(one)}{', chosen' * one.is_chosen}" for one in lines]
    frames = (
        write_frame(f"{name}-narrow", _RIGHT_ANSWERS, told, *_draw_narrow(lines), kind="narrow"),
        write_frame(f"{name}-wide", _RIGHT_ANSWERS, told, *_draw_wide(lines), kind="wide", width=_WIDE),
    )
    return Markup().join(frames)


def _draw_narrow(lines: Sequence[Bar]) -> tuple[float, list[Markup]]:
    """Height, and marks: a name, and below it mark, interval and figures."""
    axis = fit_shares((end for one in lines for end in (one.low, one.high)), 8, _PLOT)
    bottom = len(lines) * _ROW
    marks = [*_grid(axis, *((place * _ROW + 16, (place + 1) * _ROW) for place in range(len(lines))))]  # below each name
    for place, one in enumerate(lines):
        y, kind = place * _ROW + 12, "chosen" if one.is_chosen else ""
        marks += [
            write_name(0, y, shorten(one.label, _NAME), kind),
            write_text(WIDTH, y + 13, _interval(one), f"figure {kind}", "end"),
            *_draw_bar(axis, one, y + 9),
        ]
    return bottom + _LINE, marks


def _draw_wide(lines: Sequence[Bar]) -> tuple[float, list[Markup]]:
    """Height, and marks: names at the left, marks, and figures at the right."""
    axis = fit_shares((end for one in lines for end in (one.low, one.high)), _WIDE_NAMES + 16, _WIDE - 120)
    bottom = len(lines) * _WIDE_ROW
    marks = [*_grid(axis, (0, bottom))]
    for place, one in enumerate(lines):
        y, kind = (place + 0.5) * _WIDE_ROW, "chosen" if one.is_chosen else ""
        marks += [
            write_text(_WIDE_NAMES, y + 4, shorten(one.label, _WIDE_NAME), kind, "end"),
            write_text(_WIDE - 104, y + 4, _interval(one), f"figure {kind}"),
            *_draw_bar(axis, one, y),
        ]
    return bottom + _LINE, marks


def _draw_bar(axis: Axis, one: Bar, y: float) -> tuple[Markup, Markup]:
    kind = "chosen" if one.is_chosen else ""
    return (
        write_line(axis.at(one.low), y, axis.at(one.high), y, f"interval {kind}"),
        write_mark(axis.at(one.value), y, kind, is_square=one.is_prompt),
    )


def draw_calibration(bins: Sequence[Bin], of: str = "answers", *, name: str = "calibration") -> Markup:
    """Accuracy against the probability of the answer, with the number of rows. The diagonal is perfect.

    Args:
        of: whose answers they are.
    """
    x, y = (
        Axis(0.0, 1.0, *ends, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), "{:.0%}") for ends in ((_LEFT, _RIGHT), (_BOTTOM, _TOP))
    )
    marks = [
        *_plot(x, y, "certainty of the answer", f"right answers of the {of}", 1),
        write_line(x.at(0), y.at(0), x.at(1), y.at(1), "diagonal"),
    ]
    marks.append(write_text(0, _BOTTOM + 24, "texts", "tick"))
    for one in bins:
        place = x.at(one.probability)
        marks.append(write_line(place, y.at(one.probability), place, y.at(one.accuracy), "interval"))
        marks.append(write_mark(place, y.at(one.accuracy)))
        marks.append(write_text(place, _BOTTOM + 24, f"{one.rows}", "tick", "middle"))
    told = (
        f"certainty {show_percent(one.probability)} %: {show_percent(one.accuracy)} % of {one.rows} texts right"
        for one in bins
    )
    return write_frame(name, f"Right answers of the {of} against their certainty", told, 238, marks)


def _interval(one: Bar) -> str:
    ends = f" ({show_percent(one.low)}–{show_percent(one.high)})" if one.low < one.high else ""
    return f"{show_share(one.value, one.n)}{ends}"


def _plot(x: Axis, y: Axis, x_title: str, y_title: str = "right answers", lines: int = 0) -> list[Markup]:
    """Both axes with their ticks, and what they show; `lines` stay free below the ticks."""
    marks = [*_grid(x, (y.end, y.start)), write_text(0, 8, y_title, "tick")]
    for tick in y.ticks:
        marks += [
            write_line(x.start, y.at(tick), x.end, y.at(tick), "grid"),
            write_text(x.start - 4, min(y.at(tick) + 4, y.start), y.shown.format(tick), "tick", "end"),
        ]
    return [*marks, write_text(_RIGHT, y.start + (2 + lines) * _LINE - 6, x_title, "tick", "end")]


def _grid(axis: Axis, *spans: tuple[float, float]) -> Iterable[Markup]:
    """Lines from top to bottom of each span, and ticks below the last."""
    for tick in axis.ticks:
        yield from (write_line(axis.at(tick), top, axis.at(tick), bottom, "grid") for top, bottom in spans)
        yield write_text(axis.at(tick), spans[-1][1] + 12, axis.shown.format(tick), "tick", "middle")
