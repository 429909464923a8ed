"""Profiles of all columns of a table, for a guess which ones hold the texts and the labels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lens_engine.reading.columns import MAX_COLUMNS
from lens_engine.reading.table import Table
from lens_engine.reading.values import Several, is_set, show_value
from lens_engine.task.text_checks import is_blank
from lens_engine.task.unicode_form import fold_label

MAX_DISTINCT = 200
"""Largest number of distinct values that are counted."""
_DEEPEST = 5
_ROWS_A_LABEL = 2
"""A column of labels has at least this many rows for each distinct value, on average."""
_NUMBER = re.compile(r"\s*[-+]?[\d.,:]+%?\s*")
_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?!\d)|.*\b\d{1,2}:\d{2}(?!\d)")


@dataclass(slots=True)
class ColumnProfile:
    """What is in one column."""

    name: str
    num_values: int = 0  #: strings, whole numbers, flags, and lists of one, that are not blank
    num_characters: int = 0
    num_numbers: int = 0  #: values that are written as numbers
    num_others: int = 0  #: values of other types
    num_lists: int = 0  #: lists of several labels
    distinct: set[str] = field(default_factory=set)  #: at most `MAX_DISTINCT` + 1 values, spellings joined

    @property
    def mean_characters(self) -> float:
        return self.num_characters / max(self.num_values, 1)

    @property
    def num_distinct(self) -> int | None:
        """Number of distinct values; None if there are more than `MAX_DISTINCT`."""
        return len(self.distinct) if len(self.distinct) <= MAX_DISTINCT else None

    @property
    def are_numbers(self) -> bool:
        return 2 * self.num_numbers > self.num_values

    @property
    def are_flags(self) -> bool:
        """Whether every value says yes or no."""
        return 0 < len(self.distinct) <= 2 and all(is_set(value) is not None for value in self.distinct)

    @property
    def can_be_texts(self) -> bool:
        return self.num_values > self.num_numbers and not self.num_others and not self.num_lists

    @property
    def can_be_labels(self) -> bool:
        if self.num_lists:
            return True
        distinct = self.num_distinct
        if distinct is None or self.num_others or all(map(_DATE.match, self.distinct)):
            return False
        return distinct >= 2 and self.num_values >= _ROWS_A_LABEL * distinct

    def add(self, value: object) -> None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        value = show_value(value)
        if value is None:
            return
        if isinstance(value, Several):
            is_vector = all(map(_NUMBER.fullmatch, value.labels))
            self.num_others += is_vector
            self.num_lists += not is_vector
        elif not isinstance(value, str):
            self.num_others += 1
        elif not is_blank(value):
            self.num_values += 1
            self.num_characters += len(value)
            self.num_numbers += is_number or _NUMBER.fullmatch(value) is not None
            if len(self.distinct) <= MAX_DISTINCT:
                self.distinct.add(fold_label(value))


def profile_columns(table: Table) -> list[ColumnProfile]:
    """A profile of each column of a table, and of each value within objects, in the order of the file.

    Raises:
        InvalidDataset: the file breaks at a row.
    """
    profiles = {name: ColumnProfile(name) for name in table.names}
    for row in table.rows():
        for name, value in _flatten(row.cells):
            if (profile := profiles.get(name)) is None:
                if len(profiles) >= MAX_COLUMNS:
                    continue
                profile = profiles[name] = ColumnProfile(name)
            profile.add(value)
    nested = {name.rpartition(".")[0] for name in profiles}
    return [one for name, one in profiles.items() if name not in nested or one.num_values]


def _flatten(cells: Mapping[str, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    for name, value in cells.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flatten(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value
