"""Tells which columns hold the texts and the labels, by usual names and by what is in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import ColumnProfile, Look
from lens_engine.reading.columns import ABOUT_ROWS, LABEL_NAMES, TEXT_NAMES, find_usual, fold_name
from lens_engine.reading.table import LABEL, TEXT, ColumnNames, list_columns, show_columns
from lens_engine.task.text_checks import show_names

NAMED, OF_KIND = "you named it", "as such files have it"


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
        return self.reason != OF_KIND

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


def choose_columns(
    profiles: Sequence[ColumnProfile],
    text: ChosenColumn | None = None,
    label: ChosenColumn | None = None,
    *,
    joins: bool = False,
    has_labels: bool = True,
    field: str = "dataset",
    look: Look | None = None,
) -> ColumnChoice:
    """The columns by usual names and values, where they are not known.

    Args:
        joins: whether the texts of two columns are joined.
        look: tells whether flags are one label.
    """
    if label is None and has_labels:
        label = _find_by_name(_without(profiles, text), LABEL_NAMES, lambda one: one.can_be_labels)
    free = _without(profiles, label)
    more_texts: tuple[str, ...] = ()
    is_known = text is not None
    if text is None:
        is_sure = any(one.is_wordy for one in free)
        text = _find_by_name(free, TEXT_NAMES, lambda one: one.can_be_texts and not (is_sure and one.is_constant))
        text = text or _find_text(free, profiles, field)
    others = _without(free, text)
    possible = [one for one in others if one.can_be_labels]
    if label is None and has_labels:
        flags = [one.name for one in possible or others if one.may_be_flags]
        together = look.find_flags(flags, field) if look and len(flags) > 1 else ()
        reason = "each row has one of them set, so they are one label"
        label = ChosenColumn(together, reason) if together else _find_label(possible, profiles, field)
    if not is_known:
        text, more_texts = _join_texts(text, _without(others, label), profiles, joins=joins)
    return ColumnChoice(text, label, (), tuple(one.name for one in _without(possible, label)), None, more_texts)


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
    return ChosenColumn(both, "both hold texts, which are joined; name one to read it alone (--text-column)"), ()


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
