"""Chooses the columns of texts and labels, and says why."""

from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import ColumnProfile
from lens_engine.reading.columns import LABEL, TEXT, WantedColumns, find_columns
from lens_engine.reading.text_checks import show_names
from lens_engine.task.wording import show_label

_TEXT_NAMES = (TEXT, "texts", "sentence", "message", "content", "question", "review", "body")
_LABEL_NAMES = (LABEL, "labels", "class", "category", "topic", "intent", "sentiment", "target", "kind", "type", "tag")
"""Usual names; the earlier one is preferred."""

_ROWS_A_LABEL = 2
"""A column of labels has at least this many rows for each distinct value, on average."""


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """A column, and why it was chosen."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to use."""

    text: ChosenColumn
    label: ChosenColumn
    others: tuple[str, ...]  #: columns that are not used
    possible_labels: tuple[str, ...]  #: columns not used that could hold labels too


def choose_columns(
    profiles: Sequence[ColumnProfile], text: str | None = None, label: str | None = None
) -> ColumnChoice:
    """Choose by name, or else by content.

    Args:
        text, label: names of columns that the caller knows.

    Raises:
        InvalidDataset: a named column is missing, or no column can hold the texts or the labels.
    """
    if len(profiles) == 1:
        find_columns([profiles[0].name], WantedColumns(), "dataset")  # refuses, and tells another separator
    for name in (text, label):
        if name is not None and name not in [profile.name for profile in profiles]:
            raise InvalidDataset(
                f"there is no column {show_label(name)}; columns found: {_show(profiles)}", field="dataset"
            )
    chosen_label = _given(label) or _by_name([one for one in profiles if one.name != text], _LABEL_NAMES)
    free = [one for one in profiles if chosen_label is None or one.name != chosen_label.name]
    chosen_text = _given(text) or _by_name(free, _TEXT_NAMES) or _find_text(free)
    possible = [one for one in free if one.name != chosen_text.name and _can_be_labels(one)]
    if chosen_label is None:
        chosen_label = _find_label(possible, profiles)
    used = (chosen_text.name, chosen_label.name)
    return ColumnChoice(
        chosen_text,
        chosen_label,
        others=tuple(one.name for one in profiles if one.name not in used),
        possible_labels=tuple(one.name for one in possible if one.name not in used),
    )


def _given(name: str | None) -> ChosenColumn | None:
    return None if name is None else ChosenColumn(name, "you named it")


def _by_name(profiles: Sequence[ColumnProfile], usual: Sequence[str]) -> ChosenColumn | None:
    """The column with the exact name, or that name in another case, or else with another usual name."""
    if usual[0] in [profile.name for profile in profiles]:
        return ChosenColumn(usual[0], "named exactly so")
    for other in usual:
        for profile in profiles:
            if _fold(profile.name) == other:
                is_first = other == usual[0]
                return ChosenColumn(
                    profile.name, f"named {other} but for case and spaces" if is_first else "a usual name"
                )
    return None


def _fold(name: str) -> str:
    return name.strip().casefold()


def _find_text(profiles: Sequence[ColumnProfile]) -> ChosenColumn:
    readable = [one for one in profiles if one.num_values and not one.num_others]
    if not readable:
        raise InvalidDataset(f"no column holds texts; columns found: {_show(profiles)}", field="dataset")
    longest = max(readable, key=lambda one: one.mean_characters)
    return ChosenColumn(longest.name, f"the longest values, {longest.mean_characters:.0f} characters on average")


def _find_label(possible: Sequence[ColumnProfile], profiles: Sequence[ColumnProfile]) -> ChosenColumn:
    if not possible:
        raise InvalidDataset(
            "no column looks like labels: none besides the texts has between 2 and 200 distinct values that are "
            f"repeated; columns found: {_show(profiles)}",
            field="dataset",
        )
    fewest = min(possible, key=lambda one: len(one.distinct))
    return ChosenColumn(fewest.name, f"few distinct values: {len(fewest.distinct)} in {fewest.num_values:,} rows")


def _can_be_labels(profile: ColumnProfile) -> bool:
    distinct = profile.num_distinct
    return distinct is not None and distinct >= 2 and profile.num_values >= _ROWS_A_LABEL * distinct


def _show(profiles: Sequence[ColumnProfile]) -> str:
    return show_names([profile.name for profile in profiles])
