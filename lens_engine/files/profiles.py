"""What is in the columns of a table, found in one reading: a profile of each; the flags that are set together; words
beside numbers; rows with several labels.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import MAX_COLUMNS, SPLITS, is_number
from lens_engine.files.table import Several, Table, is_set, show_value, split_labels
from lens_engine.prompt.text_checks import count_unspaced, fold_text, is_blank, show_names
from lens_engine.prompt.wording import show_count

MAX_DISTINCT = 200  #: largest number of distinct values that are counted
_DEEPEST = 5
_MAX_GAPS = 0.1
_LEAST_COMPOSED = 2
"""Values of which each has a part that is a value itself, from which on values are lists of labels."""
_CONSTANT = 10  #: rows of one text from which on it is no text to classify
_MOST_PAIRED, _LONGEST_WORD = 50, 100
"""Columns among which words for numbers are looked for, and characters of such a word."""
_NUMBER = re.compile(r"\s*[-+]?[\d.,:]+%?\s*")
_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?!\d)|.*\b\d{1,2}:\d{2}(?!\d)")


@dataclass(slots=True)
class ColumnProfile:
    """What is in one column."""

    name: str
    num_values: int = 0  #: strings, whole numbers, flags, and lists of one, that are not blank
    num_characters: int = 0
    num_numbers: int = 0  #: values that are written as numbers
    num_spaces: int = 0  #: four characters of a script without spaces count as one
    num_others: int = 0  #: values of other types
    num_lists: int = 0  #: lists of several labels
    distinct: set[str] = field(default_factory=set)  #: at most `MAX_DISTINCT` + 1 values, spellings joined

    @property
    def mean_characters(self) -> float:
        return self.num_characters / max(self.num_values, 1)

    @property
    def may_be_flags(self) -> bool:
        """Whether every value says yes or no; of one alone, the other is left empty."""
        return 0 < len(self.distinct) <= 2 and all(is_set(value) is not None for value in self.distinct)

    @property
    def can_be_texts(self) -> bool:
        return self.num_values > self.num_numbers and not self.num_others and not self.num_lists

    @property
    def is_constant(self) -> bool:
        return len(self.distinct) == 1 and self.num_values >= _CONSTANT

    @property
    def is_wordy(self) -> bool:
        """Whether its values are certainly texts: several words on average, and no labels."""
        are_words = self.can_be_texts and self.num_spaces >= self.num_values
        return are_words and not (self.is_constant or self.can_be_labels)

    @property
    def holds_sentences(self) -> bool:
        """Whether its values are texts of three words on average, and no dates."""
        return self.is_wordy and self.num_spaces >= 2 * self.num_values and not all(map(_DATE.match, self.distinct))

    @property
    def can_be_labels(self) -> bool:
        if self.num_lists or self.num_others or len(self.distinct) > MAX_DISTINCT:
            return self.num_lists > 0
        are_of_rows = self.distinct <= SPLITS or all(map(_DATE.match, self.distinct))
        return not are_of_rows and 2 <= len(self.distinct) <= self.num_values / 2

    def add(self, value: object) -> None:
        """Count a value, as `show_value` shows it."""
        if isinstance(value, Several):
            is_vector = all(map(_NUMBER.fullmatch, value.labels))
            self.num_others += is_vector
            self.num_lists += not is_vector
        elif not isinstance(value, str | None):
            self.num_others += 1
        elif value is not None and not is_blank(value):
            self.num_values += 1
            self.num_characters += len(value)
            self.num_numbers += _NUMBER.fullmatch(value) is not None
            self.num_spaces += value.strip().count(" ") + count_unspaced(value) // 4
            if len(self.distinct) <= MAX_DISTINCT:
                self.distinct.add(fold_text(value))


class Look:
    """What is in the columns of a table, and in the values within objects."""

    def __init__(self, table: Table) -> None:
        found = {name: ColumnProfile(name) for name in table.names}
        self._flags = Counter[frozenset[str]]()
        self._words: dict[tuple[str, str], dict[str, str]] | None = None
        for row in table.rows():
            if row.fault is not None or row.empty or row.aside is not None:
                continue
            cells = {name: show_value(value) for name, value in _flatten(row.cells)}
            for name, value in cells.items():
                if name in found or len(found) < MAX_COLUMNS:
                    found.setdefault(name, ColumnProfile(name)).add(value)
            flags = [name for name, one in found.items() if one.may_be_flags and is_set(cells.get(name))]
            self._flags[frozenset(flags)] += len(self._flags) < 2 * MAX_DISTINCT
            self._pair(cells)
        nested = {name.rpartition(".")[0] for name in found}
        self.columns = [one for name, one in found.items() if name not in nested or one.num_values]

    def _pair(self, cells: Mapping[str, object]) -> None:
        """Keep the pairs of columns of which one has a word for each number in the other."""
        if self._words is None:
            names = list(cells)[:_MOST_PAIRED]
            numbers = [name for name in names if isinstance(value := cells[name], str) and is_number(value)]
            self._words = {(number, name): {} for number in numbers for name in names if name not in numbers}
        for pair, words in list(self._words.items()):
            number, word = map(cells.get, pair)
            is_pair = isinstance(number, str) and is_number(number) and len(words) <= MAX_DISTINCT
            if is_pair and isinstance(word, str) and len(word) <= _LONGEST_WORD and any(map(str.isalpha, word)):
                is_pair = words.setdefault(str(number), word) == word
            else:
                is_pair = number is None
            if not is_pair:
                del self._words[pair]

    def find_words(self, label: str) -> str | None:
        """The column that has a word for each label, if labels are numbers; None if there is none."""
        num_rows = max((one.num_values for one in self.columns if one.name == label), default=0)
        for (column, name), words in (self._words or {}).items():
            is_repeated = len({*words.values()}) == len(words) <= num_rows / 2
            if column == label and is_repeated and any(is_set(one) is None for one in words.values()):
                return name
        return None

    def find_flags(self, flags: Sequence[str], field: str) -> tuple[str, ...]:
        """The flags that are one label together, because each row has one of them set; none if they are no labels. Rows
        with several set are refused.
        """
        numbers = Counter[int]()
        for found, number in self._flags.items():
            numbers[len(found.intersection(flags))] += number
        several, rows = sum(count for number, count in numbers.items() if number > 1), numbers.total()
        if len(flags) > 1 and rows and not several and numbers[0] <= _MAX_GAPS * rows:
            return tuple(flags)
        if len(flags) < 3 or not rows:
            return ()  # two are answers to two questions
        told = f"{show_count(several, 'row', 'has')} several set and {show_count(numbers[0], 'row', 'has')} none"
        advice = "Lens gives a text one label: name one of these columns (label_column) for a run of its own"
        told = f"rows may have several labels: of {show_names(flags)}, {told}. {advice}"
        raise InvalidDataset(told, field=field)


def _flatten(cells: Mapping[str, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    for name, value in cells.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flatten(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


def refuse_several(
    column: str, counts: Mapping[str, int], lists: Mapping[tuple[str, ...], int], num_rows: int, field: str
) -> None:
    """Refuse rows of several labels, in lists or with a delimiter.

    Args:
        counts: numbers of rows by label.
        lists: numbers of rows by their labels, of rows whose value is a list.
    """
    several = lists or _find_lists(counts)
    if not several:
        return
    labels = [label for label, _ in Counter(one for labels in several for one in labels).most_common()]
    names = [f"{column}: {label}" for label in labels]
    raise InvalidDataset(
        f"{show_count(sum(several.values()), 'row')} of {num_rows:,} have several labels in the column {column!r}. "
        "Lens gives a text one label: name one of them for a run of its own, which tells it from the others "
        f"(label_column): {show_names(names)}",
        field=field,
    )


def _find_lists(counts: Mapping[str, int]) -> dict[tuple[str, ...], int]:
    """The values that are lists of labels with a delimiter, with their numbers: at most one part is no value itself,
    and after a comma it stands in several lists.
    """
    alone = {label.strip() for label in counts}
    uses = Counter(part for label in counts for part in set(split_labels(label)))
    composed = dict[str, tuple[str, ...]]()
    for label in counts:
        found = split_labels(label)
        num_alone = sum(one in alone for one in found)
        is_used = ", " not in label or all(one in alone or uses[one] > 1 for one in found)
        if len(found) > 1 and all(found) and is_used and num_alone >= max(len(found) - 1, 1):
            composed[label] = tuple(found)
    return {found: counts[label] for label, found in composed.items()} if len(composed) >= _LEAST_COMPOSED else {}
