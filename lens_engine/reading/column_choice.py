"""Chooses the columns of texts and labels, by names and by what is in them, and says why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_guess import NAMED, OF_KIND, ChosenColumn, ColumnChoice, choose_columns
from lens_engine.reading.column_profiles import Look
from lens_engine.reading.columns import find_column, is_number, match_header
from lens_engine.reading.table import (
    LABEL,
    NAMED_ROWS,
    TEXT,
    ColumnNames,
    Table,
    WantedColumns,
    list_columns,
    show_value,
)
from lens_engine.task.text_checks import replace_unstorable, show_names

_SHOWN_ROWS, _SHOWN_CHARACTERS = 3, 200
"""What a refusal shows of each column: rows, and characters of a value."""


@dataclass(frozen=True, slots=True)
class Named:
    """The columns that the caller knows."""

    text: ColumnNames | None = None
    label: ColumnNames | None = None
    usual_text: ColumnNames | None = None  #: of earlier files; taken where the file has it
    may_guess: bool = False
    """Whether to choose if more than one column could hold the labels, and to join the texts of two columns."""

    @property
    def names(self) -> tuple[str, ...]:
        return list_columns(self.text, self.label, self.usual_text)


ANY_COLUMNS = Named()


def choose(table: Table, named: Named, field: str, *, has_labels: bool = True) -> ColumnChoice:
    """The columns of a table: those that the caller names or its kind has, or with usual names, or by what is in them.

    Raises:
        InvalidDataset: a named column is missing; no column can hold the texts or the labels; more than one column
            could hold the labels, and no name tells which; or rows have several labels. It shows the columns.
    """
    try:
        return _choose(table, named, field, has_labels=has_labels)
    except InvalidDataset as error:
        error.columns, error.first_rows = table.names, _show_rows(table)
        raise


def _show_rows(table: Table) -> tuple[tuple[str, ...], ...]:
    """The first values of each column."""
    shown = list[tuple[str, ...]]()
    for row in table.rows():
        if row.fault is None and not row.empty:
            shown.append(tuple(str(row.cells.get(name) or "")[:_SHOWN_CHARACTERS] for name in table.names))
        if len(shown) == _SHOWN_ROWS:
            break
    return tuple(shown)


def _choose(table: Table, named: Named, field: str, *, has_labels: bool) -> ColumnChoice:
    names = table.names
    text, label = _given(named.text, names), _given(named.label, names) if has_labels else None
    if text is None and all(find_column(one, names) for one in list_columns(named.usual_text)):
        text = _given(named.usual_text, names)
    exact_text, exact_label = (name if name in names else None for name in (TEXT, LABEL))
    for of_text, of_label, why in ((table.text, table.label, OF_KIND), (exact_text, exact_label, "named exactly so")):
        text = text or _unless_taken(of_text, label, why)
        label = label or (_unless_taken(of_label, text, why) if has_labels else None)
    found = ColumnChoice(text, label, (), kind=table.kind) if text and (label or not has_labels) else None
    if found is None:
        is_alone = len(names) == 1 and has_labels and table.has_header
        missing = (TEXT, LABEL) if is_alone else ((), None)
        known = WantedColumns(text.wanted if text else missing[0], label.wanted if label else missing[1])
        match_header(table, known, field, has_labels=has_labels)
    if found is None or (label and label.reason not in (NAMED, OF_KIND) and _may_be_numbers(label, table)):
        look = Look(table)
        found = found or _guess(look, table, text, label, named, field, has_labels=has_labels)
        found = _take_words(found, look)
    wanted = WantedColumns(found.text.wanted, found.label.wanted if found.label else None)
    match_header(table, wanted, field, has_labels=has_labels)
    if bad := [name for name in wanted.names if replace_unstorable(name) != name]:
        raise InvalidDataset(
            f"the name of the column {bad[0]!r} holds a NUL character or half of a surrogate pair, which cannot be "
            "stored; rename the column",
            field=field,
        )
    return replace(found, others=tuple(name for name in names if name not in wanted.names and name))


def _may_be_numbers(label: ChosenColumn, table: Table) -> bool:
    first = (show_value(row.cells.get(label.name)) for row in islice(table.rows(), NAMED_ROWS))
    return any(isinstance(one, str) and is_number(one) for one in first)


def _guess(
    look: Look,
    table: Table,
    text: ChosenColumn | None,
    label: ChosenColumn | None,
    named: Named,
    field: str,
    *,
    has_labels: bool,
) -> ColumnChoice:
    once = [one for one in look.columns if table.names.count(one.name) < 2]
    profiles = once if has_labels and any(one.is_wordy for one in once) else look.columns
    joins, is_known = named.may_guess, label is not None
    found = choose_columns(profiles, text, label, joins=joins, has_labels=has_labels, field=field, look=look)
    label = found.label
    if label and label.is_guessed and not is_known and found.possible_labels and not named.may_guess:
        equal = [one.name for one in profiles if one.name in (label.wanted, *found.possible_labels)]
        raise InvalidDataset(
            f"more than one column could hold the labels: {show_names(equal)}; name the column to read (label_column)",
            field=field,
        )
    return replace(found, kind=table.kind)


def _take_words(found: ColumnChoice, look: Look) -> ColumnChoice:
    """The choice with the column that has a word for each label, where labels are numbers."""
    label = found.label
    if label is None or label.reason in (NAMED, OF_KIND) or not isinstance(label.wanted, str):
        return found
    num_rows = max((one.num_values for one in look.columns if one.name == label.wanted), default=0)
    words = look.find_words(label.wanted, num_rows)
    if words is None or words in list_columns(found.text.wanted):
        return found
    chosen = ChosenColumn(words, f"it has a word for each number in {show_names([label.name])}")
    return replace(found, label=chosen, possible_labels=tuple(one for one in found.possible_labels if one != words))


def _given(wanted: ColumnNames | None, names: Sequence[str]) -> ChosenColumn | None:
    if wanted is None:
        return None
    found = tuple(find_column(one, names) or one for one in list_columns(wanted))
    return ChosenColumn(found[0] if isinstance(wanted, str) else found, NAMED)


def _unless_taken(name: str | None, other: ChosenColumn | None, reason: str) -> ChosenColumn | None:
    taken = list_columns(other.wanted) if other else ()
    return None if name is None or name in taken else ChosenColumn(name, reason)
