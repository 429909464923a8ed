"""Tables that tools write: a tool is recognised by the columns of its export, whatever file holds them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from lens_engine.reading.columns import TEXT_NAMES, find_usual
from lens_engine.reading.table import NAMED_ROWS, Row, Table

Cells = Mapping[str, Any]
_NEARLY_ALL = 0.9


class Labelled(NamedTuple):
    """A row as its tool means it."""

    text: object
    labels: Mapping[str, object]  #: by the question that they answer; "label" if the tool has one question
    aside: str | None = None  #: why the row has no label to learn from, though the tool has looked at it


class Tool(NamedTuple):
    """A tool whose exports are read."""

    name: str
    fits: Callable[[Cells], bool]  #: whether a row is of this tool
    read: Callable[[Cells], Labelled]


def adapt(table: Table, tools: tuple[Tool, ...]) -> Table:
    """The table with columns of texts and labels, if a tool wrote it; else the table."""
    sample = [row.cells for row in islice(table.rows(), NAMED_ROWS) if row.fault is None and not row.empty]
    fitting = (tool for tool in tools if sample and sum(map(tool.fits, sample)) >= _NEARLY_ALL * len(sample))
    tool = next(fitting, None)
    if tool is None:
        return table

    def read() -> Iterator[Row]:
        for row in table.rows():
            if row.fault is None and not row.empty and tool.fits(row.cells):
                found = tool.read(row.cells)
                row = row._replace(cells={**row.cells, "text": found.text, **found.labels}, aside=found.aside)
            yield row

    questions = list(dict.fromkeys(name for one in filter(tool.fits, sample) for name in tool.read(one).labels))
    names = tuple(dict.fromkeys((*table.names, "text", *questions)))
    label = questions[0] if len(questions) == 1 else None
    return replace(
        table, names=names, rows=read, kind=f"an export of {tool.name}", text="text", label=label, has_header=False
    )


def find_text(cells: Cells) -> object:
    """The text among the values of an object: that with a usual name, or else the longest."""
    texts = {name: value for name, value in cells.items() if isinstance(value, str)}
    usual = find_usual(list(texts), TEXT_NAMES)
    return texts[usual[0]] if usual else max(texts.values(), key=len, default=None)


def has(cells: Cells, **kinds: type) -> bool:
    """Whether a row has these keys, with values of these types."""
    return all(name in cells and isinstance(cells[name], kind) for name, kind in kinds.items())


def dicts(value: object) -> list[Cells]:
    """The objects in a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
