"""Where in a file a fault is: line, column, and the words around it."""

from lens_engine.reading.encoding import UNDECODED

_AROUND = 15
"""Number of characters shown before and after a place."""


def tell_place(text: str, position: int, line: int) -> str:
    """The line and column (from 1) of a position in a text that begins on `line`."""
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    return f"line {line + before.count(chr(10)):,}, column {len(before) - before.rfind(chr(10)):,}"


def quote_around(text: str, position: int) -> str:
    """The characters around a position, quoted; a byte that could not be decoded is shown as \ufffd."""
    start, end = max(position - _AROUND, 0), position + _AROUND
    words = UNDECODED.sub("\ufffd", text[start:end].rstrip("\r\n"))
    return repr(f"{'…' if start else ''}{words}{'…' if end < len(text) else ''}")


def find_bad_quote(row: str, delimiter: str, quote: str) -> int:
    """Position of the quote that breaks a row: it is never closed, or its field goes on after it."""
    position, opened, is_open, is_start = 0, 0, False, True
    while position < len(row):
        character, following = row[position], row[position + 1 : position + 2]
        if character == quote and is_open and following == quote:
            position += 1
        elif character == quote and is_open:
            if following not in ("", delimiter, "\r", "\n"):
                return position
            is_open = False
        elif character == quote and is_start:
            is_open, opened = True, position
        is_start = not is_open and character in (delimiter, "\r", "\n")
        position += 1
    return opened
