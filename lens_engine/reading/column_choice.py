"""Chooses the columns of texts and labels, and says why."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import ColumnProfile, profile_columns
from lens_engine.reading.columns import LABEL, TEXT, ColumnNames, WantedColumns, find_column, list_columns, match_header
from lens_engine.reading.several_labels import find_flags
from lens_engine.reading.table import Table
from lens_engine.reading.usual_names import LABEL_NAMES, TEXT_NAMES, find_usual, fold_name
from lens_engine.task.text_checks import replace_unstorable, show_names

_NAMED = "you named it"
_EXACT = "named exactly so"
_OF_KIND = "as such files have it"
_NO_LABELS = re.compile(
    r"(?:.*[_ ])?(?:id|ids|index|key|no|nr|number|user|author|speaker|source|split|fold|lang|language|date|time|year|"
    r"season|episode|page|chapter|country|gender|age|name)",
    re.IGNORECASE,
)
"""Names of columns that rarely hold labels, though their values recur."""


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """A column, or several, and why it was chosen."""

    wanted: ColumnNames
    reason: str
    is_guessed: bool = False  #: whether it was told by its values, and others are like it

    @property
    def name(self) -> str:
        """For people."""
        return ", ".join(list_columns(self.wanted))

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
            could hold the labels, and no name tells which; or rows have several labels.
    """
    names = table.names
    text = _given(named.text, names) or _known(named.usual_text, names)
    label = _given(named.label, names) if has_labels else None
    text, label = text or _of_kind(table.text, label), label or (_of_kind(table.label, text) if has_labels else None)
    text, label = text or _exact(TEXT, names, label), label or (_exact(LABEL, names, text) if has_labels else None)
    if text is None or (label is None and has_labels):
        is_alone = len(names) == 1 and has_labels and table.has_header
        missing = (TEXT, LABEL) if is_alone else ((), None)
        known = WantedColumns(text.wanted if text else missing[0], label.wanted if label else missing[1])
        match_header(table, known, field)
        profiles = profile_columns(table)
        is_named = label is not None
        text, label, possible = choose_columns(profiles, text, label, has_labels=has_labels, field=field, table=table)
        equal = [one.name for one in profiles if label and one.name in (label.wanted, *possible)]
        if not (is_named or named.may_guess) and label and label.is_guessed and possible:
            raise InvalidDataset(
                f"more than one column could hold the labels: {show_names(equal)}; name the column to read "
                "(label_column)",
                field=field,
            )
    else:
        possible = ()
    wanted = WantedColumns(text.wanted, label.wanted if label else None)
    match_header(table, wanted, field)
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
    """The columns by usual names and values; and those that could hold labels too.

    Args:
        text, label: columns that are known.
        table: whose rows tell whether flags are one label.

    Raises:
        InvalidDataset: as `choose`.
    """
    free = [one for one in profiles if not label or one.name not in list_columns(label.wanted)]
    if label is None and has_labels:
        label = _label_by_name([one for one in free if not text or one.name not in list_columns(text.wanted)])
        free = [one for one in free if not label or one.name != label.wanted]
    text = text or _text_by_name(free) or _find_text(free, profiles, field)
    possible = [one for one in free if one.name not in list_columns(text.wanted) and one.can_be_labels]
    if label is None and has_labels:
        flags = [one.name for one in possible if one.are_flags]
        together = find_flags(table, flags, field) if table is not None else ()
        if together:
            label = ChosenColumn(together, "each row has one of them set, so they are one label")
        else:
            label = _find_label(possible, profiles, field)
    used = list_columns(text.wanted, label.wanted if label else None)
    return text, label, tuple(one.name for one in possible if one.name not in used)


def _given(wanted: ColumnNames | None, names: Sequence[str]) -> ChosenColumn | None:
    if wanted is None:
        return None
    if isinstance(wanted, str):
        return ChosenColumn(find_column(wanted, names) or wanted, _NAMED)
    return ChosenColumn(tuple(find_column(one, names) or one for one in wanted), _NAMED)


def _known(wanted: ColumnNames | None, names: Sequence[str]) -> ChosenColumn | None:
    return _given(wanted, names) if all(find_column(one, names) for one in list_columns(wanted)) else None


def _of_kind(name: str | None, other: ChosenColumn | None) -> ChosenColumn | None:
    return None if name is None or (other and name in list_columns(other.wanted)) else ChosenColumn(name, _OF_KIND)


def _exact(name: str, names: Sequence[str], other: ChosenColumn | None) -> ChosenColumn | None:
    taken = list_columns(other.wanted) if other else ()
    return ChosenColumn(name, _EXACT) if name in names and name not in taken else None


def _label_by_name(profiles: Sequence[ColumnProfile]) -> ChosenColumn | None:
    found = find_usual([one.name for one in profiles], LABEL_NAMES)
    return _usual(_prefer(found, LABEL, {one.name for one in profiles if one.can_be_labels}), LABEL)


def _text_by_name(profiles: Sequence[ColumnProfile]) -> ChosenColumn | None:
    found = find_usual([one.name for one in profiles], TEXT_NAMES)
    return _usual(_prefer(found, TEXT, {one.name for one in profiles if one.can_be_texts}), TEXT)


def _prefer(names: Sequence[str], first: str, fitting: Collection[str]) -> Sequence[str]:
    """Usual names, without those of columns whose values do not fit, if others do."""
    if names and fold_name(names[0]) == first:
        return names
    return [name for name in names if name in fitting] if fitting else names


def _usual(names: Sequence[str], first: str) -> ChosenColumn | None:
    if not names:
        return None
    is_near = fold_name(names[0]) == first
    return ChosenColumn(names[0], f"named {first} but for case and spaces" if is_near else "a usual name")


def _find_text(free: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile], field: str) -> ChosenColumn:
    readable = [one for one in free if one.can_be_texts]
    if not readable:
        raise InvalidDataset(f"no column holds texts; columns found: {_show(profiles)}", field=field)
    longest = max(readable, key=lambda one: one.mean_characters)
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
    return profile.are_numbers or bool(_NO_LABELS.fullmatch(profile.name)), profile.mean_characters > 100


def _show(profiles: Sequence[ColumnProfile]) -> str:
    return show_names([profile.name for profile in profiles])
