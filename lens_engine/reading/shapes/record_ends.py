"""Where a record of CSV ends that csv.reader cannot read: one that is too long, or a text with a bad quote."""

import re
from collections.abc import Iterable

_MOST_COMPARED = 1_000  #: lines of a record that are compared with rows


class RecordEnds:
    """Finds ends of records. A quote within a quoted field is a letter if no delimiter or line break follows it."""

    def __init__(self, delimiter: str, quote: str, *, skips_spaces: bool) -> None:
        edge_of = re.escape(delimiter)
        edge = rf"[{edge_of}\r\n]|\Z"
        self._quote, self._delimiter = quote, delimiter
        self._quoted, self._edge = re.compile(f"(?:[^{quote}]|{quote * 2})*+"), re.compile(edge)
        self._spaces = re.compile(" *+" if skips_spaces else "")
        whole, plain = rf"{quote}(?:[^{quote}]|{quote * 2})*+{quote}", rf"(?!{quote})[^{edge_of}\r\n]*+"
        self._field = re.compile(rf"{self._spaces.pattern}(?:{whole}|({plain})){edge_of}")
        self._fields = re.compile(rf"(?:{self._field.pattern})*+")
        self._width = 1
        self._begin()

    def _begin(self) -> None:
        self._is_inside = self._is_broken = self._has_letters = False
        self._num_fields = 1

    def find(self, lines: Iterable[str], width: int) -> bool | None:
        """Take lines up to the end of the record that begins with them; whether its quotes are right.

        None if it has no end; or if its quotes are bad, and it is not `width` fields wide, or most of its lines are.
        """
        self._width = width
        self._begin()
        taken = list[str]()
        for line in lines:
            taken.append(line)
            self._read(line)
            if not self._is_inside:
                break
        if self._is_inside or not self._is_broken:
            return None if self._is_inside else True
        is_wide, others = self._num_fields == width, taken[1 : 1 + _MOST_COMPARED]
        return None if not is_wide or 2 * sum(map(self._is_row, others)) > len(others) else False

    def _is_row(self, line: str) -> bool:
        self._begin()
        self._read(line)
        return self._num_fields == self._width and not (self._is_inside or self._is_broken or self._has_letters)

    def _read(self, line: str) -> None:
        """Go on with the record by a line."""
        place = 0
        while place < len(line):
            if not self._is_inside:
                plain = self._field.findall(line, place, end := _end(self._fields, line, place))
                self._num_fields += len(plain)  # many at once: a line may have a million
                self._has_letters = self._has_letters or self._quote in "".join(plain)
                place = _end(self._spaces, line, end)
                self._is_inside = line.startswith(self._quote, place)
                place += self._is_inside
            if self._is_inside:
                place = _end(self._quoted, line, place) + 1
                if place > len(line):
                    return
                self._is_inside = not self._is_end(self._edge.match(line, place))
                self._is_broken = self._is_broken or self._is_inside
                if self._is_inside:
                    continue
            found = self._edge.search(line, place)
            assert found is not None  # the end of the line is one
            self._has_letters = self._has_letters or self._quote in line[place : found.start()]
            place = found.end()
            if found[0] != self._delimiter:
                return
            self._num_fields += 1

    def _is_end(self, edge: re.Match[str] | None) -> bool:
        """Whether a quoted field ends here; after a bad quote no line break ends one if further fields are missing."""
        is_short = self._is_broken and self._num_fields < self._width
        return edge is not None and (edge[0] == self._delimiter or not is_short)


def _end(pattern: re.Pattern[str], line: str, start: int) -> int:
    return found.end() if (found := pattern.match(line, start)) else start
