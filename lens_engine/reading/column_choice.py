"""Chooses the columns of texts and labels, and says why."""

from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_guess import NAMED, OF_KIND, ChosenColumn, choose_columns, find_words, join_texts
from lens_engine.reading.column_profiles import profile_columns
from lens_engine.reading.columns import find_column, match_header
from lens_engine.reading.table import LABEL, TEXT, ColumnNames, Table, WantedColumns, list_columns
from lens_engine.task.text_checks import replace_unstorable, show_names

_SHOWN_ROWS, _SHOWN_CHARACTERS = 3, 200
"""What a refusal shows of each column: rows, and characters of a value."""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to use."""

    text: ChosenColumn
    label: ChosenColumn | None  #: None for texts alone
    others: tuple[str, ...]  #: columns that are not used
    possible_labels: tuple[str, ...] = ()  #: columns not used that could hold labels too
    kind: str | None = None  #: what the file is, beside a plain table
    more_texts: tuple[str, ...] = ()  #: columns not used that hold texts too

    def notes(self) -> list[str]:
        """One sentence of what was taken for texts and labels, if it may surprise."""
        chosen = [(self.text, TEXT, "texts"), *([(self.label, LABEL, "labels")] if self.label else [])]
        found = [
            f"{what} from {one}"
            for one, usual, what in chosen
            if one.reason != NAMED and (self.kind or one.wanted != usual)
        ]
        said = ", ".join(found)
        if self.kind:
            notes = [f"the file is read as {self.kind}{': ' if said else ''}{said}"]
        else:
            notes = [f"read {said}"] if said else []
        if self.more_texts:
            hold = "hold" if self.more_texts[1:] else "holds"
            which = show_names((*list_columns(self.text.wanted), *self.more_texts))
            notes.append(
                f"{show_names(self.more_texts)} {hold} texts too; to join {which}, name all of them (text_column)"
            )
        return notes


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
    possible: tuple[str, ...] = ()
    more_texts: tuple[str, ...] = ()
    is_text_known = text is not None
    if text is None or (label is None and has_labels):
        is_alone = len(names) == 1 and has_labels and table.has_header
        missing = (TEXT, LABEL) if is_alone else ((), None)
        known = WantedColumns(text.wanted if text else missing[0], label.wanted if label else missing[1])
        match_header(table, known, field, has_labels=has_labels)
        profiles = profile_columns(table)
        once = [one for one in profiles if names.count(one.name) < 2]
        profiles = once if has_labels and any(one.is_wordy for one in once) else profiles
        text, label, possible = choose_columns(profiles, text, label, has_labels=has_labels, field=field, table=table)
        if label and label.is_guessed and possible and not named.may_guess:
            equal = [one.name for one in profiles if one.name in (label.wanted, *possible)]
            raise InvalidDataset(
                f"more than one column could hold the labels: {show_names(equal)}; name the column to read "
                "(label_column)",
                field=field,
            )
        if not is_text_known:
            text, more_texts = join_texts(text, label, profiles, joins=named.may_guess)
    if label and label.reason not in (NAMED, OF_KIND) and (words := find_words(table, text, label)):
        label, possible = words, tuple(name for name in possible if name != words.wanted)
    wanted = WantedColumns(text.wanted, label.wanted if label else None)
    match_header(table, wanted, field, has_labels=has_labels)
    if bad := [name for name in wanted.names if replace_unstorable(name) != name]:
        raise InvalidDataset(
            f"the name of the column {bad[0]!r} holds a NUL character or half of a surrogate pair, which cannot be "
            "stored; rename the column",
            field=field,
        )
    others = tuple(name for name in names if name not in wanted.names and name)
    return ColumnChoice(text, label, others, possible, table.kind, more_texts)


def _given(wanted: ColumnNames | None, names: Sequence[str]) -> ChosenColumn | None:
    if wanted is None:
        return None
    found = tuple(find_column(one, names) or one for one in list_columns(wanted))
    return ChosenColumn(found[0] if isinstance(wanted, str) else found, NAMED)


def _unless_taken(name: str | None, other: ChosenColumn | None, reason: str) -> ChosenColumn | None:
    taken = list_columns(other.wanted) if other else ()
    return None if name is None or name in taken else ChosenColumn(name, reason)
