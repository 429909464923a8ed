"""Tells which columns hold the texts and the labels, by usual names and by what is in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import ColumnProfile, find_flags
from lens_engine.reading.columns import ABOUT_ROWS, LABEL_NAMES, TEXT_NAMES, find_usual, fold_name, is_number
from lens_engine.reading.table import ColumnNames, Table, is_set, list_columns, pick, show_columns, show_value
from lens_engine.task.text_checks import show_names

NAMED, OF_KIND = "you named it", "as such files have it"
_LONGEST_WORD = 100  #: characters of a word for a label that is a number


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


def join_texts(
    text: ChosenColumn, label: ChosenColumn | None, profiles: Sequence[ColumnProfile], *, joins: bool
) -> tuple[ChosenColumn, tuple[str, ...]]:
    """The column of texts, and the others that hold sentences of their own; with the only one of them, if `joins`."""
    own = next(one for one in profiles if one.name == text.wanted)
    others = [one for one in _without(_without(profiles, text), label) if one.holds_sentences]
    others = [one for one in others if 2 * one.num_values > own.num_values and not ABOUT_ROWS.fullmatch(one.name)]
    if not (joins and len(others) == 1 and own.holds_sentences):
        return text, tuple(one.name for one in others)
    both = tuple(one.name for one in profiles if one in (own, others[0]))
    return ChosenColumn(both, "both hold texts, which are joined; name one to read it alone (--text-column)"), ()


def find_words(table: Table, text: ChosenColumn, label: ChosenColumn) -> ChosenColumn | None:
    """The column that has a word for each label, if labels are numbers; None if there is none."""
    taken, num_rows = (*list_columns(text.wanted), label.name), 0
    words: dict[str, dict[str, str]] = {name: {} for name in table.names if name not in taken}
    for row in table.rows():
        number = show_value(pick(row.cells, label.name))
        if row.fault is not None or row.empty or number is None:
            continue
        if not words or not isinstance(number, str) or not is_number(number):
            return None
        num_rows += 1
        for name in list(words):
            word = row.cells.get(name)
            is_word = isinstance(word, str) and len(word) <= _LONGEST_WORD and any(map(str.isalpha, word))
            if not is_word or words[name].setdefault(number, str(word)) != word:
                del words[name]
    for name, found in words.items():
        if len({*found.values()}) == len(found) <= num_rows / 2 and any(is_set(one) is None for one in found.values()):
            return ChosenColumn(name, f"it has a word for each number in {show_names([label.name])}")
    return None


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
