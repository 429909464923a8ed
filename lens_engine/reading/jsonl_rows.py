"""Rows of a JSONL file: one strict JSON object on each line."""

import io
import json
from collections.abc import Iterator

from lens_engine.reading.dialect import FoundDialect, show_encoding
from lens_engine.reading.encoding import UNDECODED
from lens_engine.reading.limits import row_too_long
from lens_engine.reading.places import quote_around
from lens_engine.reading.row_sink import RowSink
from lens_engine.reading.strict_json import LooseJson, load_strict_json
from lens_engine.reading.value_checks import add_value

_BLANKS = " \t\r\n"


def read_jsonl_rows(text: io.TextIOWrapper, rows: RowSink, dialect: FoundDialect) -> None:
    """Give the sink every row of a file that is open with `newline="\\n"`: only \\n ends a line.

    Raises:
        InvalidDataset: a line cannot be read, so reading has to stop.
    """
    for number, line in enumerate(_read_lines(text, rows), start=1):
        if not line.strip(_BLANKS):
            rows.skip_blank()
        elif broken := UNDECODED.search(line):
            words, name = quote_around(line, broken.start()), show_encoding(dialect.encoding)
            fault = f"is not {name} at column {broken.start() + 1:,}, {words}; save the file as UTF-8"
            rows.note(None, fault, line=number)
        else:
            try:
                item = load_strict_json(line)
            except (ValueError, RecursionError) as error:
                rows.note(None, _explain(error, line), line=number)
            else:
                add_value(item, rows, line=number)


def _read_lines(text: io.TextIOWrapper, rows: RowSink) -> Iterator[str]:
    longest, number = rows.limits.max_row_characters, 0
    while line := text.readline(longest + 1):
        number += 1
        if len(line) > longest:
            rows.stop(row_too_long(longest), line=number)
        yield line


def _explain(error: ValueError | RecursionError, line: str) -> str:
    if isinstance(error, LooseJson):
        return str(error)
    if isinstance(error, RecursionError):
        return "is nested too deeply; keep only the keys that are needed"
    if isinstance(error, json.JSONDecodeError):
        words = quote_around(line, error.pos)
        return f"is not valid JSON ({error.msg} at column {error.colno:,}, {words}); write one object a line"
    return "is not valid JSON; write one object a line"
