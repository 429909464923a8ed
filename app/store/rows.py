"""How many bytes rows take in Postgres, and how many of them one statement inserts."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

ROW_BYTES = 150
"""What Postgres takes for a row of a dataset besides its text and label: key, index, header (bytes)."""

_PAGE_BYTES = 4 * 2**20
"""Size from which a statement inserts no further row (bytes)."""

T = TypeVar("T")


def cut_rows(rows: Sequence[T], weigh: Callable[[T], int]) -> Iterator[list[T]]:
    """The rows in pieces that one statement inserts far within its time limit."""
    piece, size = list[T](), 0
    for row in rows:
        piece.append(row)
        size += weigh(row) + ROW_BYTES
        if size >= _PAGE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
