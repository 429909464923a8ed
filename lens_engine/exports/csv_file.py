"""`csv`: text and label word of each support example, for a spreadsheet, in the order of the prompt.

A cell that a spreadsheet would run as a formula begins with an apostrophe, as OWASP advises ("CSV Injection").
"""

import csv
import io
import re

from lens_engine.exports.contract import Format, Source

_RUN = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-][0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?%?")


def write(source: Source) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(("text", "label"))
    writer.writerows((escape_cell(text), escape_cell(word)) for text, word in source.demonstrations)
    return file.getvalue()


def escape_cell(cell: str) -> str:
    """The cell, after an apostrophe if a spreadsheet would run it. A number is not run."""
    return f"'{cell}" if cell.startswith(_RUN) and not _NUMBER.fullmatch(cell) else cell


CSV = Format(write, "text/csv; charset=utf-8", ".csv")
