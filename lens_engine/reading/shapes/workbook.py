"""The table of a workbook (xlsx)."""

from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from itertools import zip_longest

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import has_header, is_usual, name_positions
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.shapes.xlsx import SheetRow, read_sheets
from lens_engine.reading.table import NAMED_ROWS, NO_CELLS, Row, Table
from lens_engine.task.wording import show_label

_SAMPLE = 1_000
_LEAST_WIDE = 0.2  #: share of the rows with several cells, in a table of several columns


def read_workbook(file: BufferedReader, field: str, limits: ParsingLimits, known: tuple[str, ...]) -> Table:
    """The table of the first sheet with a usual name in its header, or else of that with the most rows."""
    try:
        sheets = read_sheets(file, limits, field)
    except Exception as error:
        if isinstance(error, InvalidDataset | MemoryError):
            raise
        raise InvalidDataset(
            "the workbook is damaged, or locked by a password; save the sheet as CSV (UTF-8)", field=field
        ) from None
    filled = [(name, rows) for name, rows in sheets if any(map(any, rows[:_SAMPLE]))]
    if not filled:
        raise InvalidDataset("the workbook has no sheet with rows", field=field)
    usual = (one for one in filled if _is_row(top := one[1][_find_start(one[1])]) and any(map(is_usual, top)))
    name, rows = next(usual, None) or max(filled, key=lambda one: sum(map(_is_row, one[1])))
    others = [one for one, _ in filled if one != name]
    limits.check_rows(len(rows) - 1, field)
    kind = f"a workbook, of which the sheet {show_label(name)} is read"
    if others:
        kind += f", and not {', '.join(map(show_label, others[:10]))}"
    width = max(map(len, rows[:_SAMPLE]))
    start = _find_start(rows)
    kind += f"; its table begins in row {start + 1}" if start else ""
    first, *sample = ([*row[:width], *[""] * (width - len(row))] for row in rows[start : start + _SAMPLE])
    is_header = has_header(first, sample, known)
    names = tuple(first) if is_header else name_positions(width)
    begin = start + is_header

    def read() -> Iterator[Row]:
        for number, row in enumerate(rows[begin:], start=begin + 1):
            if any(cells := row[:width]):
                yield Row(dict(zip_longest(names, cells, fillvalue="")), number)
            else:
                yield Row(NO_CELLS, number, empty="line")

    return Table(names, read, "workbook", kind=kind)


def _find_start(rows: list[SheetRow]) -> int:
    """The row in which the table begins: the first with several cells, if some rows below have several; or one of the
    next with two usual names that are no values. Titles stand above.
    """
    filled = [sum(map(bool, row)) for row in rows]
    start = next((number for number, count in enumerate(filled) if count > 1), 0)
    seen = Counter(cell for row in rows[:_SAMPLE] for cell in row)
    for number in range(start, min(start + NAMED_ROWS, len(rows))):
        if sum(seen[name] == 1 and is_usual(name) for name in rows[number] if name) > 1:
            return number
    is_table = _LEAST_WIDE * sum(map(bool, filled[start:])) < sum(count > 1 for count in filled[start:])
    return start if is_table else 0


def _is_row(cells: SheetRow) -> bool:
    return sum(map(bool, cells)) > 1
