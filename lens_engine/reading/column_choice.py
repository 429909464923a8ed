"""Chooses the columns of texts and labels, and says why."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import ColumnProfile, find_flags, profile_columns
from lens_engine.reading.columns import (
    ABOUT_ROWS,
    LABEL_NAMES,
    TEXT_NAMES,
    find_column,
    find_usual,
    fold_name,
    match_header,
)
from lens_engine.reading.table import LABEL, TEXT, ColumnNames, Table, WantedColumns, list_columns, show_columns
from lens_engine.task.text_checks import replace_unstorable, show_names

_SHOWN_ROWS, _SHOWN_CHARACTERS = 3, 200
"""What a refusal shows of each column: rows, and characters of a value."""

_NAMED, _OF_KIND = "you named it", "as such files have it"


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """A column, or several, and why it was chosen."""

    wanted: ColumnNames
    reason: str
    is_guessed: bool = False  #: whether it was told by its values, and others are like it

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
    others: tuple[str, ...]  #: columns that are not used
    possible_labels: tuple[str, ...] = ()  #: columns not used that could hold labels too
    kind: str | None = None  #: what the file is, beside a plain table

    def notes(self) -> list[str]:
        """One sentence of what was taken for texts and labels, if it may surprise."""
        chosen = [(self.text, TEXT, "texts"), *([(self.label, LABEL, "labels")] if self.label else [])]
        found = [
            f"{what} from {one}"
            for one, usual, what in chosen
            if one.reason != _NAMED and (self.kind or one.wanted != usual)
        ]
        said = ", ".join(found)
        if self.kind:
            return [f"the file is read as {self.kind}{': ' if said else ''}{said}"]
        return [f"read {said}"] if said else []


@dataclass(frozen=True, slots=True)
class Named:
    """The columns that the caller knows."""

    text: ColumnNames | None = None
    label: ColumnNames | None = None
    usual_text: ColumnNames | None = None  #: of earlier files; taken where the file has it
    may_guess: bool = False  #: whether to choose if more than one column could hold the labels

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
    for of_text, of_label, why in ((table.text, table.label, _OF_KIND), (exact_text, exact_label, "named exactly so")):
        text = text or _unless_taken(of_text, label, why)
        label = label or (_unless_taken(of_label, text, why) if has_labels else None)
    possible: tuple[str, ...] = ()
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
    wanted = WantedColumns(text.wanted, label.wanted if label else None)
    match_header(table, wanted, field, has_labels=has_labels)
    if bad := [name for name in wanted.names if replace_unstorable(name) != name]:
        raise InvalidDataset(
            f"the name of the column {bad[0]!r} holds a NUL character or half of a surrogate pair, which cannot be "
            "stored; rename the column",
            field=field,
        )
    others = tuple(name for name in names if name not in wanted.names and name)
    return ColumnChoice(text, label, others, possible, table.kind)


def choose_columns(
    profiles: Sequence[ColumnProfile],
    text: ChosenColumn | None = None,
    label: ChosenColumn | None = None,
    *,
    has_labels: bool = True,
    field: str = "dataset",
    table: Table | None = None,
) -> tuple[ChosenColumn, ChosenColumn | None, tuple[str, ...]]:
    """The columns by usual names and values, where they are not known; and those that could hold labels too.

    Args:
        table: whose rows tell whether flags are one label.
    """
    if label is None and has_labels:
        label = _find_by_name(_without(profiles, text), LABEL_NAMES, lambda one: one.can_be_labels)
    free = _without(profiles, label)
    is_sure = any(one.is_wordy for one in free)
    named = _find_by_name(free, TEXT_NAMES, lambda one: one.can_be_texts and not (is_sure and one.is_constant))
    text = text or named or _find_text(free, profiles, field)
    possible = [one for one in _without(free, text) if one.can_be_labels]
    if label is None and has_labels:
        marks = [one for one in _without(free, text) if one.is_mark]
        flags = [one.name for one in possible or marks if one.are_flags]
        together = find_flags(table, flags, field) if table is not None else ()
        reason = "each row has one of them set, so they are one label"
        label = ChosenColumn(together, reason) if together else _find_label(possible, profiles, field)
    return text, label, tuple(one.name for one in _without(possible, label))


def _given(wanted: ColumnNames | None, names: Sequence[str]) -> ChosenColumn | None:
    if wanted is None:
        return None
    found = tuple(find_column(one, names) or one for one in list_columns(wanted))
    return ChosenColumn(found[0] if isinstance(wanted, str) else found, _NAMED)


def _unless_taken(name: str | None, other: ChosenColumn | None, reason: str) -> ChosenColumn | None:
    taken = list_columns(other.wanted) if other else ()
    return None if name is None or name in taken else ChosenColumn(name, reason)


def _without(profiles: Sequence[ColumnProfile], taken: ChosenColumn | None) -> Sequence[ColumnProfile]:
    return profiles if taken is None else [one for one in profiles if one.name not in list_columns(taken.wanted)]


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
    readable = [one for one in free if one.can_be_texts]
    if not readable:
        raise InvalidDataset(f"no column holds texts; columns found: {_show(profiles)}", field=field)
    longest = max(readable, key=lambda one: one.mean_characters)
    wordy = [one for one in readable if one.is_wordy]
    if wordy and (longest.are_codes or longest.is_constant):
        longest = max(wordy, key=lambda one: one.mean_characters)
        return ChosenColumn(longest.name, "the longest values of several words that differ")
    return ChosenColumn(longest.name, f"the longest values, {longest.mean_characters:.0f} characters on average")


def _find_label(possible: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile], field: str) -> ChosenColumn:
    if not possible:
        raise InvalidDataset(
            "no column looks like labels: none besides the texts has between 2 and 200 distinct values that are "
            f"repeated; columns found: {_show(profiles)}",
            field=field,
        )
    best, *others = sorted(possible, key=lambda one: (*_rank(one), len(one.distinct)))
    reason = f"few distinct values: {len(best.distinct)} in {best.num_values:,} rows"
    return ChosenColumn(best.name, reason, is_guessed=any(_rank(one) == _rank(best) for one in others))


def _rank(profile: ColumnProfile) -> tuple[bool, bool]:
    """Words are preferred to numbers, and names of labels to those of ids."""
    return profile.are_numbers or bool(ABOUT_ROWS.fullmatch(profile.name)), profile.mean_characters > 100


def _show(profiles: Sequence[ColumnProfile]) -> str:
    return show_names([profile.name for profile in profiles])
