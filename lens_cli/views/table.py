"""Tables of the engine, drawn for a terminal."""

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from lens_engine.show.table import Table as EngineTable

NARROW: dict[str, Any] = {"show_edge": False, "padding": (0, 1, 0, 0)}  #: look of a table that needs the width


def draw_table(table: EngineTable, **look: Any) -> Table:
    """The table as Rich prints it. Markup in a cell is shown as it is.

    Args:
        look: further arguments of `rich.table.Table`.
    """
    usual: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "caption_justify": "left"}
    usual |= {"title": table.title, "caption": table.caption or None, "show_footer": bool(table.footer)}
    drawn = Table(box=box.SIMPLE_HEAD, **(usual | look))
    footer = table.footer or ("",) * len(table.header)
    for name, last, is_left in zip(table.header, footer, table.is_left, strict=True):
        drawn.add_column(name, last, justify="left" if is_left else "right", no_wrap=not is_left)
    for place, row in enumerate(table.rows):
        drawn.add_row(*map(Text, row), style="bold green" if place in table.marked else None)
    return drawn
