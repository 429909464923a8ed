"""Rows of a JSONL file: one strict JSON object on each line."""

import codecs
import io
import json
from collections.abc import Iterator

from lens_engine.reading.row_sink import RowSink
from lens_engine.reading.strict_json import LooseJson, load_strict_json
from lens_engine.reading.value_checks import add_value

_BLANKS = b" \t\r\n"


def read_jsonl_rows(file: io.BufferedReader, rows: RowSink) -> None:
    """Give the sink every row of `file`.

    Raises:
        InvalidDataset: a line cannot be read, so reading has to stop.
    """
    for number, offset, line in _read_lines(file, rows):
        if not line.strip(_BLANKS):
            rows.skip_blank()
            continue
        try:
            item = load_strict_json(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            fault = f"is not UTF-8 at byte {offset + error.start:,} of the file; save the file as UTF-8"
            rows.note(None, fault, line=number)
        except (ValueError, RecursionError) as error:
            rows.note(None, _explain(error), line=number)
        else:
            add_value(item, rows, line=number)


def _read_lines(file: io.BufferedReader, rows: RowSink) -> Iterator[tuple[int, int, bytes]]:
    """The number of each line (from 1), the offset of its first byte, and the line. Only \\n ends a line."""
    longest = rows.limits.max_row_characters
    number, offset = 1, len(codecs.BOM_UTF8)
    if file.read(offset) != codecs.BOM_UTF8:
        offset = 0
        file.seek(0)
    while line := file.readline(longest + 1):
        if len(line) > longest:
            rows.stop(f"is longer than {longest:,} bytes; is a line break missing?", line=number)
        yield number, offset, line
        number, offset = number + 1, offset + len(line)


def _explain(error: ValueError | RecursionError) -> str:
    if isinstance(error, LooseJson):
        return str(error)
    if isinstance(error, RecursionError):
        return "is nested too deeply; keep only the keys that are needed"
    if isinstance(error, json.JSONDecodeError):
        # The parser's message ("Expecting ',' delimiter") repeats no text of the line.
        return f"is not valid JSON ({error.msg} at column {error.colno:,}); write one object a line"
    return "is not valid JSON; write one object a line"
