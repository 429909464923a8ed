"""JSON: a value a line, an array of rows, or an object of lists; what is in it decides which rows it means."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import is_usual
from lens_engine.reading.dialect import UNDECODED, quote_around, show_encoding, tell_place
from lens_engine.reading.errors import DatasetEmpty
from lens_engine.reading.limits import row_too_long
from lens_engine.reading.shapes.exports import TURNS
from lens_engine.reading.shapes.header import name_positions
from lens_engine.reading.shapes.json_objects import find_rows
from lens_engine.reading.shapes.text_file import TextFile
from lens_engine.reading.strict_json import LooseJson, scan_row
from lens_engine.reading.table import NAMED_ROWS, NO_CELLS, DatasetFormat, Fault, Row, Table
from lens_engine.task.text_checks import show_names

_BLANKS = re.compile(r"[ \t\r\n]*")
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_NO_ROWS = "no list of rows is found in it"


def read_json(file: TextFile) -> Table | None:
    """The table of a file that begins as JSON does; None of another file.

    Raises:
        DatasetEmpty: there is no row in it.
        InvalidDataset: it is no JSON, or no rows are found in it.
    """
    head = file.head.lstrip(" \t\r\n\ufeff")
    if not head.startswith("[") and not head.startswith("{"):
        return None
    if head.startswith("[") and not re.match(r'\[\s*(["{\[\]\d\-tfn])', head):
        return None  # a label in brackets
    if _is_of_lines(file):
        return _make_table(lambda: _read_lines(file), "jsonl", file)
    rows, note = _find_rows(file)
    notes = (*file.dialect.notes, note) if note else file.dialect.notes
    return _make_table(rows, "json", replace(file, dialect=replace(file.dialect, notes=notes)))


def _is_of_lines(file: TextFile) -> bool:
    """Whether each line is a value: the first is, and not the beginning of a longer text."""
    lines = [line for line in file.head_lines if line.strip()][:NAMED_ROWS]
    first, *others = map(_scan_line, map(str.strip, lines))
    if not others:
        return isinstance(first, dict) and not _holds_rows(first)
    num_values = sum(isinstance(one, dict | list) for one in others)
    return isinstance(first, dict) or (num_values > 0 and (isinstance(first, list) or num_values > len(others) / 2))


def _holds_rows(value: Mapping[str, Any]) -> bool:
    """Whether the only object of a file is a table, and not a row."""
    if any(key in TURNS or (is_usual(key) and isinstance(one, str)) for key, one in value.items()):
        return False
    found = find_rows(value)
    return found is not None and len(found.items) != 1


def _scan_line(line: str) -> Any:
    try:
        return _load(line)
    except ValueError:
        return None


def _load(line: str) -> Any:
    """
    Raises:
        LooseJson, json.JSONDecodeError: the line is no value, or more than one.
    """
    value, end = scan_row(line, _skip(line, 0))
    if (rest := _skip(line, end)) < len(line):
        raise json.JSONDecodeError("Extra data", line, rest)
    return value


def _make_table(rows: Callable[[], Iterator[Row]], format: DatasetFormat, file: TextFile) -> Table:
    names = dict.fromkeys(chain.from_iterable(row.cells for row in islice(rows(), NAMED_ROWS)))
    if not names and all(row.fault for row in rows()):
        first = next(rows(), None)
        if first is None:
            raise DatasetEmpty("the file holds no rows", field=file.field)
        if format == "json" and first.fault:
            raise InvalidDataset(f"the file {first.fault.detail}", field=file.field)
    return Table(tuple(names), rows, format, file.dialect, has_header=False)


def _read_lines(file: TextFile) -> Iterator[Row]:
    """The rows of a file of lines: only \\n ends a line."""
    longest = file.limits.max_row_characters
    for number, line in enumerate(file.lines("\n"), start=1):
        if len(line) > longest:
            yield Row(NO_CELLS, number, Fault("far too long", row_too_long(longest)))
        elif not line.strip(" \t\r\n"):
            yield Row(NO_CELLS, number, empty="line")
        elif broken := UNDECODED.search(line):
            words, name = quote_around(line, broken.start()), show_encoding(file.dialect.encoding)
            detail = f"is not {name} at column {broken.start() + 1:,}, {words}; save the file as UTF-8"
            yield Row(NO_CELLS, number, Fault(f"with bytes that are not {name}", detail))
        else:
            yield _read_line(line, number)


def _read_line(line: str, number: int) -> Row:
    try:
        return _make_row(_load(line), number)
    except json.JSONDecodeError as error:
        words = quote_around(line, error.pos)
        detail = f"is not valid JSON ({error.msg} at column {error.colno:,}, {words}); write one object a line"
    except LooseJson as error:
        detail = str(error)
    return Row(NO_CELLS, number, Fault("that are no JSON", detail))


def _skip(text: str, start: int, pattern: re.Pattern[str] = _BLANKS) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _make_row(value: object, line: int | None = None) -> Row:
    if isinstance(value, dict):
        return Row(value, line)
    if isinstance(value, list) and len(value) > 1:
        return Row(dict(zip(name_positions(len(value)), value, strict=True)), line)
    if isinstance(value, str):
        return Row({"text": value}, line)
    return Row(NO_CELLS, line, Fault("that are no JSON objects", "is not a JSON object"))


def _find_rows(file: TextFile) -> tuple[Callable[[], Iterator[Row]], str]:
    """The rows of a whole text of JSON (an array, objects one after another, or what an object holds), and a note.

    Raises:
        InvalidDataset: it may hold rows in several ways, or in none.
    """
    text = file.text
    start = _skip(text, 0)
    if text[start] == "[":
        return lambda: _read_items(text, start + 1, file, "]"), ""
    value, end = _scan(text, start, file)
    if _skip(text, end, _BETWEEN) < len(text):
        return lambda: _read_items(text, start, file, ""), ""
    found = find_rows(value)
    if found is None or not found.items:
        raise InvalidDataset(
            f"the file is one JSON object, and {_NO_ROWS if found is None else found.note}; keys found: "
            f"{show_names(list(value))}; write the rows as a list of objects: jq '.KEY' FILE > rows.json",
            field=file.field,
        )
    rows = [_make_row(one) for one in found.items]
    return lambda: iter(rows), found.note


def _read_items(text: str, start: int, file: TextFile, closing: str) -> Iterator[Row]:
    """The rows of an array, or of objects one after another."""
    line, last, has_lines = 1, 0, "\n" in text.strip()
    while (start := _skip(text, start, _BETWEEN)) < len(text) and text[start] != closing:
        line, last = line + text.count("\n", last, start), start
        value, start = _scan(text, start, file)
        yield _make_row(value, line if has_lines else None)
    if closing and (start == len(text) or _skip(text, start + 1) < len(text)):
        raise InvalidDataset(
            f"the file is no JSON array: {'it is cut off' if start == len(text) else 'more follows the array'} at "
            f"{tell_place(text, min(start + 1, len(text)), 1)}",
            field=file.field,
        )


def _scan(text: str, start: int, file: TextFile) -> tuple[Any, int]:
    """
    Raises:
        InvalidDataset: no value of JSON begins there.
    """
    try:
        return scan_row(text, start)
    except json.JSONDecodeError as error:
        what, place = f"is not valid JSON: {error.msg}", error.pos
    except LooseJson as error:
        what, place = str(error), start
    detail = f"the file {what}, {tell_place(text, place, 1)}, at {quote_around(text, place)}"
    raise InvalidDataset(detail, field=file.field)
