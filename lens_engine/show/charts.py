"""Charts as SVG, for reports, pages and notebooks.

A chart fits a phone: a name stands above its mark, or below the chart. The chart of the accuracies has a wide form too,
with the names at its left; the stylesheet shows the one that fits. Colours come from the stylesheet by class; shapes
and figures tell the same without them. A chart has no style of its own, because a strict content security policy
forbids it.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from lens_engine.show.axes import Axis, fit_amounts, fit_shares
from lens_engine.show.svg import WIDTH, write_frame, write_line, write_mark, write_name, write_path, write_text
from lens_engine.task.wording import shorten, show_percent, show_share

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

_RIGHT_ANSWERS = "Right answers on the test texts, with the 95 % range"


class Bar(NamedTuple):
    """A share of right answers with its 95 % range."""

    label: str
    value: float
    low: float
    high: float
    n: int = 0  #: number of rows
    is_prompt: bool = False  #: a square, or else a circle
    is_chosen: bool = False  #: filled


class Point(NamedTuple):
    """A candidate: what it costs, and how often it is right."""

    label: str
    tokens: float
    accuracy: float
    is_chosen: bool = False


class Bin(NamedTuple):
    """Answers of about the same probability."""

    probability: float  #: mean
    accuracy: float
    rows: int


class Step(NamedTuple):
    """The best accuracy when a number of pairs has been scored."""

    pairs: int
    accuracy: float


def draw_accuracies(bars: Sequence[Bar], *, name: str = "accuracies", order: bool = True) -> Markup:
    """A figure a line, the highest first: twice, for a phone and for a wide page.

    Args:
        name: part of the ids; each chart of a page needs another.
        order: whether to sort; else the bars stay as they are.
    """
    lines = sorted(bars, key=lambda one: -one.value) if order else list(bars)
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
    marks = [*_grid(axis, 0, bottom)]
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
    marks = [*_grid(axis, 0, bottom)]
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


def draw_frontier(points: Sequence[Point], *, name: str = "frontier") -> Markup:
    """Accuracy against tokens for an input. A line joins the points that no cheaper one reaches."""
    x = fit_amounts((one.tokens for one in points), _LEFT, _RIGHT - 16)
    y = fit_shares((one.accuracy for one in points), _BOTTOM, _TOP)
    marks = [*_plot(x, y, "tokens for a text"), write_path(_find_frontier(points, x, y), "frontier")]
    taken = list[tuple[float, float]]()
    for number, one in enumerate(points, start=1):
        kind, place = "chosen" if one.is_chosen else "", (x.at(one.tokens), y.at(one.accuracy))
        taken.append(_find_room(place, taken))
        marks += [
            write_mark(*place, kind),
            write_text(taken[-1][0] + 8, taken[-1][1] + 4, f"{number}", f"number {kind}"),
        ]
        line = 222 + number * _LINE
        marks += [write_text(0, line, f"{number}", kind), write_name(16, line, shorten(one.label, _NAME), kind)]
    told = (
        f"{one.label}: {show_percent(one.accuracy)} % for {one.tokens:,.0f} tokens{', chosen' * one.is_chosen}"
        for one in points
    )
    return write_frame(name, "Right answers against tokens for a text", told, 230 + len(points) * _LINE, marks)


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


def draw_curve(
    steps: Sequence[Step], rival: Sequence[Step] = (), *, planned: int | None = None, name: str = "curve"
) -> Markup:
    """The best validation accuracy against pairs scored, beside that of the best random examples.

    Args:
        planned: number of pairs where the axis ends; None for the last step.
    """
    every = [*steps, *rival]
    last = float(max([planned or 1, *(one.pairs for one in every)]))
    x = fit_amounts([last], _LEFT, _RIGHT)
    y = fit_shares((one.accuracy for one in every), _BOTTOM, _TOP)
    marks, told = _plot(x, y, "pairs scored"), list[str]()
    for title, found, kind in (("best so far", steps, "chosen"), ("best random examples", rival, "rival")):
        if found:
            best = found[-1]
            told.append(f"{title}: {show_percent(best.accuracy)} %")
            line = 222 + len(told) * _LINE
            marks.append(write_path(_climb(found, x, y), kind))
            marks.append(write_mark(x.at(best.pairs), y.at(best.accuracy), kind, is_square=kind == "rival"))
            marks += [write_mark(6, line - 4, kind, is_square=kind == "rival"), write_text(18, line, told[-1], kind)]
    return write_frame(
        name, "Right answers on the rows that decide, against pairs scored", told, 230 + len(told) * _LINE, marks
    )


def _find_frontier(points: Sequence[Point], x: Axis, y: Axis) -> list[tuple[float, float]]:
    """Places of the points that are more often right than every cheaper one."""
    found = list[Point]()
    for one in sorted(points, key=lambda one: (one.tokens, -one.accuracy)):
        if not found or one.accuracy > found[-1].accuracy:
            found.append(one)
    return [(x.at(one.tokens), y.at(one.accuracy)) for one in found]


def _find_room(place: tuple[float, float], taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The place, or one above it where no number stands yet."""
    x, y = place
    while any(abs(x - other) < 16 and abs(y - beside) < 12 for other, beside in taken):
        y -= 12
    return x, y


def _climb(steps: Sequence[Step], x: Axis, y: Axis) -> list[tuple[float, float]]:
    """Corners of a line that rises at each step."""
    places = [(x.at(one.pairs), y.at(one.accuracy)) for one in steps]
    corners = [(later[0], earlier[1]) for earlier, later in pairwise(places)]
    return [place for pair in zip(places, [*corners, places[-1]], strict=True) for place in pair]


def _interval(one: Bar) -> str:
    ends = f" ({show_percent(one.low)}–{show_percent(one.high)})" if one.low < one.high else ""
    return f"{show_share(one.value, one.n)}{ends}"


def _plot(x: Axis, y: Axis, x_title: str, y_title: str = "right answers", lines: int = 0) -> list[Markup]:
    """Both axes with their ticks, and what they show; `lines` stay free below the ticks."""
    marks = [*_grid(x, y.end, y.start), write_text(0, 8, y_title, "tick")]
    for tick in y.ticks:
        marks += [
            write_line(x.start, y.at(tick), x.end, y.at(tick), "grid"),
            write_text(x.start - 4, y.at(tick) + 4, y.shown.format(tick), "tick", "end"),
        ]
    return [*marks, write_text(_RIGHT, y.start + (2 + lines) * _LINE - 6, x_title, "tick", "end")]


def _grid(axis: Axis, top: float, bottom: float) -> Iterable[Markup]:
    for tick in axis.ticks:
        yield write_line(axis.at(tick), top, axis.at(tick), bottom, "grid")
        yield write_text(axis.at(tick), bottom + 12, axis.shown.format(tick), "tick", "middle")
