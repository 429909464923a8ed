"""The cells of a file of texts, packed: the names of the columns once, and the values of each row as a JSON array.

The value of the column of texts is left out where it is the text of the row.
"""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from lens_engine.errors import InvalidDataset
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.task.text_checks import UNSTORABLE
from lens_engine.task.wording import show_label

_PLAIN = (str, int, float, bool, type(None))


class CellPacker:
    """Packs the cells of one row after another, and learns the names of the columns from them."""

    def __init__(self, limits: ParsingLimits, field: str, text_column: str) -> None:
        self._limits = limits
        self._field = field
        self._text_column = text_column
        self._names = dict[str, None]()  #: in the order in which they were met

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    @property
    def text_place(self) -> int | None:
        """Index of the column of texts; None if no row has it."""
        return self.names.index(self._text_column) if self._text_column in self._names else None

    def pack(self, cells: Mapping[str, object], text: str) -> bytes:
        """The values of a row, in the order of `names`; b"" if only the text is left out.

        Args:
            cells: without half of a surrogate pair, which cannot be written as UTF-8.

        Raises:
            InvalidDataset: the name of a column is too long, or cannot be kept.
            DatasetTooLarge: there are too many columns.
        """
        for name in cells:
            if name and name not in self._names:  # spreadsheets write an empty name for each empty column
                self._add(name)
        values = [_show(cells.get(name)) for name in self._names]
        if text and self._text_column in self._names and cells.get(self._text_column) == text:
            values[self.names.index(self._text_column)] = None
        while values and values[-1] is None:
            values.pop()
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() if values else b""

    def _add(self, name: str) -> None:
        most, longest = self._limits.max_columns, self._limits.max_column_characters
        if UNSTORABLE.search(name):
            raise InvalidDataset(
                f"the column {show_label(name)} has NUL or half a surrogate pair in its name; rename the column",
                field=self._field,
            )
        if len(name) > longest:
            raise InvalidDataset(
                f"the name of column {len(self._names) + 1:,} ({show_label(name)}) has {len(name):,} characters, and "
                f"at most {longest:,} are allowed; shorten it, or leave the column out",
                field=self._field,
            )
        if len(self._names) == most:
            raise DatasetTooLarge(
                f"the file has more than {most:,} columns, and the output has all of them; leave some out",
                field=self._field,
            )
        self._names[name] = None


def unpack_cells(packed: bytes, text: str, number: int, text_place: int | None) -> list[Any]:
    """The values of a row, one for each of `number` columns; None where the row has no value.

    Args:
        text: of the row.
        text_place: index of the column of texts; None if no column is.
    """
    values: list[Any] = json.loads(packed) if packed else []
    values += [None] * (number - len(values))
    if text_place is not None and values[text_place] is None and text:
        values[text_place] = text
    return values


def _show(cell: object) -> object:
    """A value that every format can hold."""
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    if isinstance(cell, float) and not isfinite(cell):
        return None
    return cell if isinstance(cell, _PLAIN) else str(cell)
