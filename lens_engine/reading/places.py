"""Rows of which a note says the same."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from lens_engine.task.text_checks import MAX_SHOWN, show_places
from lens_engine.task.wording import show_count


class Places:
    """Numbers of rows, and the places of the first, by what they have in common."""

    def __init__(self) -> None:
        self.numbers = Counter[str]()
        self._first = defaultdict[str, list[str]](list)

    def add(self, kind: str, place: str) -> None:
        self.numbers[kind] += 1
        if len(self._first[kind]) < MAX_SHOWN:
            self._first[kind].append(place)

    def describe(self, verb: str | None = None) -> Iterator[str]:
        """A sentence of each kind, with the number of rows and places."""
        for kind, number in self.numbers.items():
            yield f"{show_count(number, 'row', verb)} {kind} ({show_places(self._first[kind], number)})"


DOUBT = "a quoted text with lines that look like rows of their own; if a quote was left open there, close it"
