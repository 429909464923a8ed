"""Chooses the columns of texts and labels: those that are named or usual, or else by what is in them; and says why."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import (
    ABOUT_ROWS,
    LABEL_NAMES,
    MAX_COLUMNS,
    SPLITS,
    TEXT_NAMES,
    find_column,
    find_usual,
    fold_name,
    is_number,
    match_header,
)
from lens_engine.files.table import (
    LABEL,
    NAMED_ROWS,
    TEXT,
    ColumnNames,
    Table,
    WantedColumns,
    list_columns,
    show_columns,
    show_value,
)
from lens_engine.prompt.text_checks import count_unspaced, fold_text, is_blank, replace_unstorable, show_names

MAX_DISTINCT = 200  #: largest number of distinct values that are counted
_NAMED, _OF_KIND = "you named it", "as such files have it"
_OF_NUMBERS = "the words of the numbers in 'label'"
_SHOWN_ROWS, _SHOWN_CHARACTERS = 3, 200  #: what a refusal shows of each column: rows, and characters of a value
_DEEPEST = 5
_CONSTANT = 10  #: rows of one text from which on it is no text to classify
_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}(?!\d)|.*\b\d{1,2}:\d{2}(?!\d)")
_NUMBER = re.compile(r"\s*[-+]?[\d.,:]+%?\s*")


@dataclass(frozen=True, slots=True)
class Named:
    """The columns that the caller knows."""

    text: ColumnNames | None = None
    label: str | None = None
    usual_text: ColumnNames | None = None  #: of earlier files; taken where the file has it

    @property
    def names(self) -> tuple[str, ...]:
        return list_columns(self.text, self.label, self.usual_text)


ANY_COLUMNS = Named()


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """A column, or several of texts, and why it was chosen."""

    wanted: ColumnNames
    reason: str

    @property
    def name(self) -> str:
        """For people."""
        return show_columns(self.wanted)

    @property
    def is_told(self) -> bool:
        """Whether the caller must name the column to have it again: a file of some kind has it."""
        return self.reason != _OF_KIND

    def __str__(self) -> str:
        return f"{show_names(list_columns(self.wanted))} ({self.reason})"


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to use."""

    text: ChosenColumn
    label: ChosenColumn | None  #: None for texts alone
    others: tuple[str, ...] = ()  #: columns that are not used
    kind: str | None = None  #: what the file is, beside a plain table
    more_texts: tuple[str, ...] = ()  #: columns not used that hold texts too

    def notes(self) -> Iterator[str]:
        """What was taken for texts and labels, if it may surprise."""
        chosen = [(self.text, TEXT, "texts"), *([(self.label, LABEL, "labels")] if self.label else [])]
        found = ", ".join(
            f"{what} from {one}"
            for one, usual, what in chosen
            if one.reason != _NAMED and (self.kind or one.wanted != usual)
        )
        if self.kind:
            yield f"the file is read as {self.kind}{': ' if found else ''}{found}"
        elif found:
            yield f"read {found}"
        if self.more_texts:
            both = show_names((*list_columns(self.text.wanted), *self.more_texts))
            yield f"more than one column holds texts; to join {both}, name all of them (text_column)"


@dataclass(slots=True)
class ColumnProfile:
    """What is in one column."""

    name: str
    num_values: int = 0  #: strings, whole numbers, true and false, and lists of one, that are not blank
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
    def can_be_labels(self) -> bool:
        if self.num_lists or self.num_others or len(self.distinct) > MAX_DISTINCT:
            return self.num_lists > 0
        are_of_rows = self.distinct <= SPLITS or all(map(_DATE.match, self.distinct))
        return not are_of_rows and 2 <= len(self.distinct) <= self.num_values / 2

    @property
    def rank(self) -> tuple[bool, bool]:
        """As labels, words are preferred to numbers, and names of labels to those of ids; then short values."""
        is_number = 2 * self.num_numbers > self.num_values
        return is_number or ABOUT_ROWS.fullmatch(self.name) is not None, self.mean_characters > 100

    def add(self, value: object) -> None:
        """Count a value, as `show_value` shows it."""
        if isinstance(value, list) and all(isinstance(one, str) and not _NUMBER.fullmatch(one) for one in value):
            self.num_lists += 1
        elif not isinstance(value, str | None):
            self.num_others += 1
        elif value is not None and not is_blank(value):
            self.num_values += 1
            self.num_characters += len(value)
            self.num_numbers += _NUMBER.fullmatch(value) is not None
            self.num_spaces += value.strip().count(" ") + count_unspaced(value) // 4
            if len(self.distinct) <= MAX_DISTINCT:
                self.distinct.add(fold_text(value))


def _profile(table: Table) -> list[ColumnProfile]:
    """What is in the columns of a table, and in the values within objects."""
    found = {name: ColumnProfile(name) for name in table.names}
    for row in table.rows():
        if row.fault is None and not row.empty and row.aside is None:
            for name, value in _flatten(row.cells):
                if name in found or len(found) < MAX_COLUMNS:
                    found.setdefault(name, ColumnProfile(name)).add(show_value(value))
    nested = {name.rpartition(".")[0] for name in found}
    return [one for name, one in found.items() if name not in nested or one.num_values]


def _flatten(cells: Mapping[str, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    for name, value in cells.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _flatten(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


def choose(table: Table, named: Named, field: str, *, has_labels: bool = True) -> ColumnChoice:
    """The columns of a table: those that the caller names or its kind has, or with usual names, or by what is in them.

    Raises:
        InvalidDataset: a named column is missing; no column can hold the texts or the labels; or more than one column
            could hold the labels, and no name tells which. It shows the columns.
    """
    try:
        return _choose(table, named, field, has_labels=has_labels)
    except InvalidDataset as error:
        first = islice((row.cells for row in table.rows() if row.fault is None and not row.empty), _SHOWN_ROWS)
        shown = (tuple(str(cells.get(one) or "")[:_SHOWN_CHARACTERS] for one in table.names) for cells in first)
        error.columns, error.first_rows = table.names, tuple(shown)
        raise


def _choose(table: Table, named: Named, field: str, *, has_labels: bool) -> ColumnChoice:
    names, more_texts = table.names, tuple[str, ...]()
    text, label = _find_known(table, named, has_labels=has_labels)
    if text is None or (label is None and has_labels):  # then by usual names and values
        is_alone = len(names) == 1 and has_labels and table.has_header
        known_text = text.wanted if text else TEXT if is_alone else ()
        known_label = str(label.wanted) if label else LABEL if is_alone else None
        match_header(table, WantedColumns(known_text, known_label), field, has_labels=has_labels)
        profiles = _profile(table)
        once = [one for one in profiles if names.count(one.name) < 2]
        profiles = once if has_labels and any(one.is_wordy for one in once) else profiles
        if label is None and has_labels:
            label = _find_by_name(_without(profiles, text), LABEL_NAMES, lambda one: one.can_be_labels)
        guesses_text, text = text is None, text or _find_text(_without(profiles, label), profiles, field)
        if label is None and has_labels:
            label = _find_label([one for one in _without(profiles, text) if one.can_be_labels], profiles, field)
        rest = [one for one in _without(profiles, text, label) if not ABOUT_ROWS.fullmatch(one.name)]
        more_texts = tuple(one.name for one in rest if one.is_wordy) * guesses_text
    wanted = WantedColumns(text.wanted, str(label.wanted) if label else None)
    match_header(table, wanted, field, has_labels=has_labels)
    if bad := [name for name in wanted.names if replace_unstorable(name) != name]:
        told = f"the name of the column {bad[0]!r} holds a NUL character or half of a surrogate pair"
        raise InvalidDataset(f"{told}, which cannot be stored; rename the column", field=field)
    others = tuple(name for name in names if name and name not in wanted.names)
    return ColumnChoice(text, label, others, table.kind, more_texts)


def _find_known(table: Table, named: Named, *, has_labels: bool) -> tuple[ChosenColumn | None, ChosenColumn | None]:
    """The columns of texts and labels that are named, or that such files have, or that are called exactly so."""
    names = table.names
    text, label = _take_named(named.text, names), _take_named(named.label, names) if has_labels else None
    if text is None and all(find_column(one, names) for one in list_columns(named.usual_text)):
        text = _take_named(named.usual_text, names)
    exact_text, exact_label = (name if name in names else None for name in (TEXT, LABEL))
    words = [name for name in names if fold_name(name).replace("_", "") == "labeltext"]  # beside numbers, as of setfit
    first = [str(show_value(row.cells.get(LABEL))) for row in islice(table.rows(), NAMED_ROWS)] if words else []
    has_words = exact_label is not None and bool(words) and all(map(is_number, first))
    for of_text, of_label, why in ((table.text, table.label, _OF_KIND), (exact_text, exact_label, "named exactly so")):
        if text is None and of_text and not (label and of_text == label.wanted):
            text = ChosenColumn(of_text, why)
        if label is None and of_label and has_labels and not (text and of_label in list_columns(text.wanted)):
            numbers = has_words and why != _OF_KIND
            label = ChosenColumn(words[0], _OF_NUMBERS) if numbers else ChosenColumn(of_label, why)
    return text, label


def _take_named(wanted: ColumnNames | None, names: Sequence[str]) -> ChosenColumn | None:
    if wanted is None:
        return None
    found = tuple(find_column(one, names) or one for one in list_columns(wanted))
    return ChosenColumn(found[0] if isinstance(wanted, str) else found, _NAMED)


def _without(profiles: Sequence[ColumnProfile], *taken: ChosenColumn | None) -> Sequence[ColumnProfile]:
    names = list_columns(*(one.wanted for one in taken if one))
    return [one for one in profiles if one.name not in names]


def _find_by_name(
    profiles: Sequence[ColumnProfile], usual: Sequence[str], fits: Callable[[ColumnProfile], bool]
) -> ChosenColumn | None:
    """The column with the most usual name; of those whose values fit, if any do."""
    names = find_usual([one.name for one in profiles], usual)
    if names and fold_name(names[0]) == usual[0]:
        return ChosenColumn(names[0], f"named {usual[0]} but for case and spaces")
    fitting = {one.name for one in profiles if fits(one)}
    names = [name for name in names if name in fitting] if fitting else names
    return ChosenColumn(names[0], "a usual name") if names else None


def _find_text(free: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile], field: str) -> ChosenColumn:
    wordy = [one for one in free if one.is_wordy]
    if found := _find_by_name(free, TEXT_NAMES, lambda one: one.can_be_texts and not (wordy and one.is_constant)):
        return found
    if readable := wordy or [one for one in free if one.can_be_texts]:
        longest = max(readable, key=lambda one: one.mean_characters)
        return ChosenColumn(longest.name, f"the longest values, {longest.mean_characters:.0f} characters on average")
    names = show_names([one.name for one in profiles])
    told = f"no column holds texts; columns found: {names}" if profiles else "no row has a text and a label; add rows"
    raise InvalidDataset(told, field=field)


def _find_label(possible: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile], field: str) -> ChosenColumn:
    if not possible:
        why = "none besides the texts has between 2 and 200 distinct values that are repeated"
        found = show_names([one.name for one in profiles])
        raise InvalidDataset(f"no column looks like labels: {why}; columns found: {found}", field=field)
    first = min(one.rank for one in possible)
    best, *others = [one for one in possible if one.rank == first]
    if others:
        equal = show_names([one.name for one in possible])
        told = f"more than one column could hold the labels: {equal}; name the column to read (label_column)"
        raise InvalidDataset(told, field=field)
    return ChosenColumn(best.name, f"few distinct values: {len(best.distinct)} in {best.num_values:,} rows")


def find_composed(labels: Counter[str]) -> dict[str, int]:
    """The labels that are lists of others with a delimiter, with their numbers: `billing|urgent`. At most one part of
    each is no label itself, and there are two such lists at least; a part after a comma and a space is in several.
    """
    parts = dict[str, list[str]]()
    for label in labels:
        separator = next((one for one in "|;," if one in label), None)
        parts[label] = [label] if separator is None else [part.strip() for part in label.split(separator)]
    uses = Counter(part for found in parts.values() for part in set(found))

    def is_composed(label: str) -> bool:
        found = parts[label]
        num_labels = sum(one in labels for one in found)
        is_used = ", " not in label or all(one in labels or uses[one] > 1 for one in found)
        return len(found) > 1 and all(found) and is_used and num_labels >= max(len(found) - 1, 1)

    composed = {label: number for label, number in labels.items() if is_composed(label)}
    return composed if len(composed) > 1 else {}
