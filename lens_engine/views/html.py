"""HTML for notebooks and pages. Every string is escaped, because texts of users may hold markup."""

from collections.abc import Iterable
from html import escape

from lens_engine.views.table import Table

_LEFT, _RIGHT = "text-align: left; white-space: pre-wrap", "text-align: right; white-space: nowrap"
"""White space of a text shows, so that a prompt looks as the model reads it."""


def write_block(parts: Iterable[str]) -> str:
    """One element of parts that are HTML."""
    return f"<div>{''.join(parts)}</div>"


def write_paragraph(text: str, *, is_strong: bool = False) -> str:
    shown = escape(text)
    return f"<p><strong>{shown}</strong></p>" if is_strong else f"<p>{shown}</p>"


def write_table(table: Table) -> str:
    """The table with its title above and its caption below."""
    rows = "".join(
        _write_row(table, row, "td", is_strong=place in table.marked) for place, row in enumerate(table.rows)
    )
    footer = f"<tfoot>{_write_row(table, table.footer, 'th')}</tfoot>" if table.footer else ""
    caption = f"<p><small>{escape(table.caption)}</small></p>" if table.caption else ""
    return (
        f"<table><caption>{escape(table.title)}</caption><thead>{_write_row(table, table.header, 'th')}</thead>"
        f"<tbody>{rows}</tbody>{footer}</table>{caption}"
    )


def _write_row(table: Table, cells: tuple[str, ...], tag: str, *, is_strong: bool = False) -> str:
    style = "; font-weight: bold" if is_strong else ""
    written = (
        f'<{tag} style="{_LEFT if left else _RIGHT}{style}">{escape(cell)}</{tag}>'
        for cell, left in zip(cells, table.is_left, strict=True)
    )
    return f"<tr>{''.join(written)}</tr>"
