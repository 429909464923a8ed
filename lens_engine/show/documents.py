"""HTML: of a result as a document that needs no other file, and what a notebook shows."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from lens_engine.show.report import ResultView
from lens_engine.show.table import Section, Table

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

_PERCENT = re.compile(r"(?<=\d) %")
_FOLDER = Path(__file__).parent

STYLESHEET = _FOLDER / "lens.css"
"""File of the stylesheet. Its rules hold inside an element of the class `lens`."""


def make_environment(*loaders: "BaseLoader") -> "Environment":
    """Templates that escape every text and refuse names that they were not given; looked for in `loaders` first."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined  # slow; most runs write no HTML

    environment = Environment(
        loader=ChoiceLoader([*loaders, FileSystemLoader(_FOLDER / "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = join_percent
    return environment


def join_percent(text: str) -> str:
    """Sentences of Lens, and what they quote, in which no line ends between a number and its per cent sign."""
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", text)


def write_html(view: ResultView) -> str:
    """One HTML file without scripts, with the stylesheet and the charts in it."""
    return _render("report.html", view=view)


def write_fragment(*parts: Section | Table | str) -> str:
    """Sections, tables and sentences as a part of a notebook."""
    return _render("fragment.html", parts=parts)


def _render(template: str, **values: object) -> str:
    stylesheet = Markup(STYLESHEET.read_text("utf-8"))
    return make_environment().get_template(template).render(stylesheet=stylesheet, **values)
