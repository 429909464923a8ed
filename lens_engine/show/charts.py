"""The accuracies as SVG, for reports, pages and notebooks.

A chart fits a phone: a name stands above its mark. It has a wide form too, with the names at its left; the stylesheet
shows the one that fits. Colours come from the stylesheet by class; shapes and figures tell the same without them. A
chart has no style of its own, because a strict content security policy forbids it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from lens_engine.prompt.wording import shorten, show_percent, show_share

_WIDTH, _PLOT = 360, 230
"""Width of a chart that fits a phone, and end of its plot: figures stand beside it."""

_LINE, _ROW = 16, 38
"""Heights of a line of text, and of a name with its mark."""

_NAME = 64
"""Longest name on a line of its own (characters)."""

_CHARACTER, _BOLD_CHARACTER = 6.4, 7.4
"""Widths of a character of a name, and of one that is chosen. Fonts differ, so a name that may be wider is squeezed."""

_WIDE, _WIDE_NAMES, _WIDE_ROW, _WIDE_NAME = 880, 370, 30, 48
"""Width of a wide chart, end of its names, height of its lines, and its longest name (characters)."""


class Bar(NamedTuple):
    """A share of right answers with its 95 % range."""

    label: str
    value: float
    low: float
    high: float
    n: int = 0  #: number of rows
    is_prompt: bool = False  #: a square, or else a circle
    is_chosen: bool = False  #: filled


_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """A range of figures, and the range of places on which it is drawn."""

    low: float
    high: float
    start: float  #: place of `low`
    end: float  #: place of `high`
    ticks: tuple[float, ...]
    shown: str = "{:.2f}"  #: how a tick is written

    def at(self, value: float) -> float:
        """Place of a figure; one out of the range stands at its end."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)


def fit_shares(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis of shares that holds all values: within 0 and 1, and at least a tenth long."""
    found = [0.5, *values][1:] or [0.0, 1.0]
    low, high = max(min(found) - 0.02, 0.0), min(max(found) + 0.02, 1.0)
    low, high = (max(min(low, 0.9), 0.0), min(max(high, low + 0.1), 1.0)) if high - low < 0.1 else (low, high)
    ticks = list_ticks(low, high)
    is_whole = all(abs(100 * tick - round(100 * tick)) < 1e-6 for tick in ticks)
    return Axis(low, high, start, end, ticks, "{:.0%}" if is_whole else "{:.1%}")


def list_ticks(low: float, high: float, most: int = 5) -> tuple[float, ...]:
    """Round figures between the ends, at most `most`."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in _STEPS if one * power >= rough - 1e-12)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(round(number * step, 10) for number in range(first, last + 1))


def draw_accuracies(lines: Sequence[Bar], *, name: str = "accuracies") -> Markup:
    """A figure a line: twice, for a phone and for a wide page. `name` is part of the ids; each chart needs another."""
    told = "; ".join(f"{one.label}: {_interval(one)}{', chosen' * one.is_chosen}" for one in lines)
    frame = Markup(
        '<svg class="chart {kind}" viewBox="0 0 {width} {height:g}" role="img" '
        'aria-labelledby="{name}-{kind}-title {name}-{kind}-figures">'
        '<title id="{name}-{kind}-title">Right answers, with the 95 % range</title>'
        '<desc id="{name}-{kind}-figures">{told}</desc><g aria-hidden="true">{marks}</g></svg>'
    )
    drawn = (("narrow", _WIDTH, *_draw_narrow(lines)), ("wide", _WIDE, *_draw_wide(lines)))
    return Markup().join(
        frame.format(kind=kind, width=width, height=height, name=name, told=told, marks=Markup().join(marks))
        for kind, width, height, marks in drawn
    )


def _draw_narrow(lines: Sequence[Bar]) -> tuple[float, list[Markup]]:
    """Height, and marks: a name, and below it mark, interval and figures."""
    axis = fit_shares((end for one in lines for end in (one.low, one.high)), 8, _PLOT)
    bottom = len(lines) * _ROW
    marks = [*_grid(axis, *((place * _ROW + 16, (place + 1) * _ROW) for place in range(len(lines))))]  # below each name
    for place, one in enumerate(lines):
        y, kind = place * _ROW + 12, "chosen" if one.is_chosen else ""
        marks += [
            _write_name(0, y, shorten(one.label, _NAME), kind),
            _write_text(_WIDTH, y + 13, _interval(one), f"figure {kind}", "end"),
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
            _write_text(_WIDE_NAMES, y + 4, shorten(one.label, _WIDE_NAME), kind, "end"),
            _write_text(_WIDE - 104, y + 4, _interval(one), f"figure {kind}"),
            *_draw_bar(axis, one, y),
        ]
    return bottom + _LINE, marks


def _draw_bar(axis: Axis, one: Bar, y: float) -> tuple[Markup, Markup]:
    kind = "chosen" if one.is_chosen else ""
    return (
        _write_line(axis.at(one.low), y, axis.at(one.high), y, f"interval {kind}"),
        _write_mark(axis.at(one.value), y, kind, is_square=one.is_prompt),
    )


def _interval(one: Bar) -> str:
    ends = f" ({show_percent(one.low)}–{show_percent(one.high)})" if one.low < one.high else ""
    return f"{show_share(one.value, one.n)}{ends}"


def _grid(axis: Axis, *spans: tuple[float, float]) -> Iterable[Markup]:
    """Lines from top to bottom of each span, and ticks below the last."""
    for tick in axis.ticks:
        yield from (_write_line(axis.at(tick), top, axis.at(tick), bottom, "grid") for top, bottom in spans)
        yield _write_text(axis.at(tick), spans[-1][1] + 12, axis.shown.format(tick), "tick", "middle")


def _write_text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Markup:
    element = Markup('<text x="{:g}" y="{:g}" class="{}" text-anchor="{}">{}</text>')
    return element.format(x, y, kind.strip(), anchor, words)


def _write_name(x: float, y: float, words: str, kind: str) -> Markup:
    """A name that begins at `x` and ends within the drawing."""
    room = _WIDTH - x
    if len(words) * (_BOLD_CHARACTER if kind == "chosen" else _CHARACTER) <= room:
        return _write_text(x, y, words, kind)
    element = Markup('<text x="{:g}" y="{:g}" class="{}" textLength="{:g}" lengthAdjust="spacingAndGlyphs">{}</text>')
    return element.format(x, y, kind, room, words)


def _write_line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    element = Markup('<polyline points="{:g},{:g} {:g},{:g}" class="{}"/>')
    return element.format(x1, y1, x2, y2, kind.strip())


def _write_mark(x: float, y: float, kind: str, *, is_square: bool) -> Markup:
    if is_square:
        element = Markup('<rect x="{:g}" y="{:g}" width="8" height="8" class="{}"/>')
        return element.format(x - 4, y - 4, f"mark {kind}".strip())
    return Markup('<circle cx="{:g}" cy="{:g}" r="4.5" class="{}"/>').format(x, y, f"mark {kind}".strip())
