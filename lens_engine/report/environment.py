"""The templates of reports and pages, and their stylesheet."""

from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = Path(__file__).parent

STYLESHEET = _FOLDER / "lens.css"
"""File of the stylesheet. Its rules hold inside an element of the class `lens`."""


def make_environment(*loaders: BaseLoader) -> Environment:
    """Templates that escape every text and refuse names that they were not given.

    Args:
        loaders: where further templates are looked for first.
    """
    return Environment(
        loader=ChoiceLoader([*loaders, FileSystemLoader(_FOLDER / "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def read_stylesheet() -> Markup:
    """The stylesheet, for a document that carries its own."""
    return Markup(STYLESHEET.read_text("utf-8"))
