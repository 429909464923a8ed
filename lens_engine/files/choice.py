"""Chooses the columns of texts and labels: those that are named or usual, or else by what is in them; and says why."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import (
    ABOUT_ROWS,
    LABEL_NAMES,
    TEXT_NAMES,
    find_column,
    find_usual,
    fold_name,
    is_number,
    match_header,
)
from lens_engine.files.profiles import ColumnProfile, Look
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
from lens_engine.prompt.text_checks import replace_unstorable, show_names

_NAMED, _OF_KIND = "you named it", "as such files have it"
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
    others: tuple[str, ...] = ()  #: columns that are not used
    possible_labels: tuple[str, ...] = ()  #: columns not used that could hold labels too
    kind: str | None = None  #: what the file is, beside a plain table
    more_texts: tuple[str, ...] = ()  #: columns not used that hold texts too

    def notes(self) -> list[str]:
        """One sentence of what was taken for texts and labels, if it may surprise."""
        chosen = [(self.text, TEXT, "texts"), *([(self.label, LABEL, "labels")] if self.label else [])]
        found = ", ".join(
            f"{what} from {one}"
            for one, usual, what in chosen
            if one.reason != _NAMED and (self.kind or one.wanted != usual)
        )
        notes = [f"read {found}"] if found else []
        if self.kind:
            notes = [f"the file is read as {self.kind}{': ' if found else ''}{found}"]
        if self.more_texts:
            hold = "hold" if self.more_texts[1:] else "holds"
            which = show_names((*list_columns(self.text.wanted), *self.more_texts))
            told = f"{show_names(self.more_texts)} {hold} texts too; to join {which}, name all of them (text_column)"
            notes.append(told)
        return notes


def choose(table: Table, named: Named, field: str, *, has_labels: bool = True) -> ColumnChoice:
    """The columns of a table: those that the caller names or its kind has, or with usual names, or by what is in them.

    Raises:
        InvalidDataset: a named column is missing; no column can hold the texts or the labels; more than one column
            could hold the labels, and no name tells which; or rows have several labels. It shows the columns.
    """
    try:
        return _choose(table, named, field, has_labels=has_labels)
    except InvalidDataset as error:
        first = islice((row.cells for row in table.rows() if row.fault is None and not row.empty), _SHOWN_ROWS)
        shown = (tuple(str(cells.get(one) or "")[:_SHOWN_CHARACTERS] for one in table.names) for cells in first)
        error.columns, error.first_rows = table.names, tuple(shown)
        raise


def _choose(table: Table, named: Named, field: str, *, has_labels: bool) -> ColumnChoice:
    names = table.names
    text, label = _find_known(table, named, has_labels=has_labels)
    found = ColumnChoice(text, label) if text and (label or not has_labels) else None
    if found is None:
        is_alone = len(names) == 1 and has_labels and table.has_header
        known = (
            text.wanted if text else TEXT if is_alone else (),
            label.wanted if label else LABEL if is_alone else None,
        )
        match_header(table, WantedColumns(*known), field, has_labels=has_labels)
    first = [show_value(row.cells.get(label.name)) for row in islice(table.rows(), NAMED_ROWS)] if label else []
    has_words = label is None or label.reason not in (_NAMED, _OF_KIND)
    if found is None or (has_words and any(isinstance(one, str) and is_number(one) for one in first)):
        look = Look(table)
        found = found or _guess(look, names, text, label, named, field, has_labels=has_labels)
        found = _take_words(found, look) if has_words else found
    wanted = WantedColumns(found.text.wanted, found.label.wanted if found.label else None)
    match_header(table, wanted, field, has_labels=has_labels)
    if bad := [name for name in wanted.names if replace_unstorable(name) != name]:
        told = f"the name of the column {bad[0]!r} holds a NUL character or half of a surrogate pair"
        raise InvalidDataset(f"{told}, which cannot be stored; rename the column", field=field)
    return replace(found, kind=table.kind, others=tuple(name for name in names if name and name not in wanted.names))


def _find_known(table: Table, named: Named, *, has_labels: bool) -> tuple[ChosenColumn | None, ChosenColumn | None]:
    """The columns of texts and labels that are named, or that such files have, or that are called exactly so."""
    names = table.names
    text, label = _take_named(named.text, names), _take_named(named.label, names) if has_labels else None
    if text is None and all(find_column(one, names) for one in list_columns(named.usual_text)):
        text = _take_named(named.usual_text, names)
    exact_text, exact_label = (name if name in names else None for name in (TEXT, LABEL))
    for of_text, of_label, why in ((table.text, table.label, _OF_KIND), (exact_text, exact_label, "named exactly so")):
        if text is None and of_text and not (label and of_text in list_columns(label.wanted)):
            text = ChosenColumn(of_text, why)
        if label is None and of_label and has_labels and not (text and of_label in list_columns(text.wanted)):
            label = ChosenColumn(of_label, why)
    return text, label


def _take_named(wanted: ColumnNames | None, names: Sequence[str]) -> ChosenColumn | None:
    if wanted is None:
        return None
    found = tuple(find_column(one, names) or one for one in list_columns(wanted))
    return ChosenColumn(found[0] if isinstance(wanted, str) else found, _NAMED)


def _take_words(found: ColumnChoice, look: Look) -> ColumnChoice:
    """The choice with the column that has a word for each label, where labels are numbers."""
    words = look.find_words(found.label.wanted) if found.label and isinstance(found.label.wanted, str) else None
    if found.label is None or words is None or words in list_columns(found.text.wanted):
        return found
    chosen = ChosenColumn(words, f"it has a word for each number in {show_names([found.label.name])}")
    return replace(found, label=chosen, possible_labels=tuple(one for one in found.possible_labels if one != words))


def _guess(
    look: Look,
    names: Sequence[str],
    text: ChosenColumn | None,
    label: ChosenColumn | None,
    named: Named,
    field: str,
    *,
    has_labels: bool,
) -> ColumnChoice:
    """The columns by usual names and values, where they are not known."""
    once = [one for one in look.columns if names.count(one.name) < 2]
    profiles = once if has_labels and any(one.is_wordy for one in once) else look.columns
    is_known = text is not None
    if label is None and has_labels:
        label = _find_by_name(_without(profiles, text), LABEL_NAMES, lambda one: one.can_be_labels)
    free = _without(profiles, label)
    text = text or _find_text(free, profiles, field)
    others = _without(free, text)
    possible = [one for one in others if one.can_be_labels]
    if label is None and has_labels:
        flags = [one.name for one in possible or others if one.may_be_flags]
        together = look.find_flags(flags, field) if len(flags) > 1 else ()
        reason = "each row has one of them set, so they are one label"
        label = ChosenColumn(together, reason) if together else _find_label(possible, profiles, field)
        if label.is_guessed and not named.may_guess:
            equal = show_names([one.name for one in possible])
            told = f"more than one column could hold the labels: {equal}; name the column to read (label_column)"
            raise InvalidDataset(told, field=field)
    if label is not None and (empty := _find_empty(profiles, label)):
        label = replace(label, reason=f"{show_names(empty)} {'are' if empty[1:] else 'is'} empty; {label.reason}")
    more_texts: tuple[str, ...] = ()
    if not is_known:
        text, more_texts = _join_texts(text, _without(others, label), profiles, joins=named.may_guess)
    more_labels = tuple(one.name for one in _without(possible, label))
    return ColumnChoice(text, label, possible_labels=more_labels, more_texts=more_texts)


def _find_empty(profiles: Sequence[ColumnProfile], label: ChosenColumn) -> list[str]:
    """The empty columns that were probably meant for the labels: with usual names, or any where labels have none."""
    empty = [one.name for one in profiles if one.name and not (one.num_values or one.num_lists or one.num_others)]
    names = list_columns(label.wanted)
    return find_usual(empty, LABEL_NAMES) or ([] if find_usual(names, LABEL_NAMES) else empty)


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
    wordy = [one for one in free if one.is_wordy]
    if found := _find_by_name(free, TEXT_NAMES, lambda one: one.can_be_texts and not (wordy and one.is_constant)):
        return found
    if readable := wordy or [one for one in free if one.can_be_texts]:
        longest = max(readable, key=lambda one: one.mean_characters)
        return ChosenColumn(longest.name, f"the longest values, {longest.mean_characters:.0f} characters on average")
    told = f"no column holds texts; columns found: {show_names([one.name for one in profiles])}"
    raise InvalidDataset(told, field=field)


def _join_texts(
    text: ChosenColumn, free: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile], *, joins: bool
) -> tuple[ChosenColumn, tuple[str, ...]]:
    """The column of texts, and the others that hold sentences of their own; with the only one of them, if `joins`."""
    own = next(one for one in profiles if one.name == text.wanted)
    others = [one for one in free if one.holds_sentences and 2 * one.num_values > own.num_values]
    others = [one for one in others if not ABOUT_ROWS.fullmatch(one.name)]
    if not (joins and len(others) == 1 and own.holds_sentences):
        return text, tuple(one.name for one in others)
    both = tuple(one.name for one in profiles if one in (own, others[0]))
    return ChosenColumn(both, "both hold texts, which are joined; name one to read it alone (text_column)"), ()


def _find_label(possible: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile], field: str) -> ChosenColumn:
    if not possible:
        why = "none besides the texts has between 2 and 200 distinct values that are repeated"
        raise InvalidDataset(
            f"no column looks like labels: {why}; columns found: {show_names([one.name for one in profiles])}",
            field=field,
        )
    ranks = {  # words are preferred to numbers, and names of labels to those of ids
        one.name: (
            2 * one.num_numbers > one.num_values or bool(ABOUT_ROWS.fullmatch(one.name)),
            one.mean_characters > 100,
        )
        for one in possible
    }
    best = min(possible, key=lambda one: (*ranks[one.name], len(one.distinct)))
    reason = f"few distinct values: {len(best.distinct)} in {best.num_values:,} rows"
    is_guessed = sum(rank == ranks[best.name] for rank in ranks.values()) > 1
    return ChosenColumn(best.name, reason, is_guessed)
