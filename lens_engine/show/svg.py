"""Lines, marks and texts of a chart as SVG."""

from collections.abc import Iterable

from markupsafe import Markup

WIDTH = 360
"""Width of a chart that fits a phone."""

_CHARACTER, _BOLD_CHARACTER = 6.4, 7.4
"""Widths of a character of a name, and of one that is chosen. Fonts differ, so a name that may be wider is squeezed."""


def write_frame(
    of: str,
    title: str,
    told: Iterable[str],
    height: float,
    marks: Iterable[Markup],
    *,
    kind: str = "",
    width: int = WIDTH,
) -> Markup:
    """The drawing, with a title and a text that reads its figures."""
    frame = Markup(
        '<svg class="{kind}" viewBox="0 0 {width} {height:g}" role="img" aria-labelledby="{name}-title {name}-figures">'
        '<title id="{name}-title">{title}</title><desc id="{name}-figures">{told}</desc>'
        '<g aria-hidden="true">{marks}</g></svg>'
    )
    drawn, classes = Markup().join(marks), f"chart {kind}".strip()
    return frame.format(
        kind=classes, width=width, height=height, name=of, title=title, told="; ".join(told), marks=drawn
    )


def write_text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Markup:
    element = Markup('<text x="{:g}" y="{:g}" class="{}" text-anchor="{}">{}</text>')
    return element.format(x, y, kind.strip(), anchor, words)


def write_name(x: float, y: float, words: str, kind: str) -> Markup:
    """A name that begins at `x` and ends within the drawing."""
    room = WIDTH - x
    if len(words) * (_BOLD_CHARACTER if kind == "chosen" else _CHARACTER) <= room:
        return write_text(x, y, words, kind)
    element = Markup('<text x="{:g}" y="{:g}" class="{}" textLength="{:g}" lengthAdjust="spacingAndGlyphs">{}</text>')
    return element.format(x, y, kind, room, words)


def write_line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return write_path([(x1, y1), (x2, y2)], kind)


def write_path(places: Iterable[tuple[float, float]], kind: str) -> Markup:
    return Markup('<polyline points="{}" class="{}"/>').format(
        " ".join(f"{x:g},{y:g}" for x, y in places), kind.strip()
    )


def write_rect(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return Markup('<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" class="{}"/>').format(x, y, width, height, kind)


def write_mark(x: float, y: float, kind: str = "", *, is_square: bool = False) -> Markup:
    if is_square:
        return write_rect(x - 4, y - 4, 8, 8, f"mark {kind}".strip())
    return Markup('<circle cx="{:g}" cy="{:g}" r="4.5" class="{}"/>').format(x, y, f"mark {kind}".strip())
