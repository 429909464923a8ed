"""Rows with several labels: said to be that. Flags of which each row has one are one label."""

from collections import Counter
from collections.abc import Mapping, Sequence

from lens_engine.errors import InvalidDataset
from lens_engine.reading.table import Table
from lens_engine.reading.values import is_set, pick, split_labels
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_count

_MAX_GAPS = 0.1
_LEAST_COMPOSED = 2
"""Values of which each has a part that is a value itself, from which on values are lists of labels."""


def find_flags(table: Table, flags: Sequence[str], field: str) -> tuple[str, ...]:
    """The columns that are one label together, because each row has one of them set; none if they are no labels.

    Args:
        flags: the columns of two values, set or not.

    Raises:
        InvalidDataset: rows have several set.
    """
    numbers = Counter[int]()
    for row in table.rows():
        if row.fault is None and not row.empty:
            numbers[sum(is_set(pick(row.cells, name)) is True for name in flags)] += 1
    several, rows = sum(count for number, count in numbers.items() if number > 1), numbers.total()
    if len(flags) < 2 or not rows:
        return ()
    if not several and numbers[0] <= _MAX_GAPS * rows:
        return tuple(flags)
    if len(flags) == 2:
        return ()  # two answers to two questions
    raise InvalidDataset(
        f"rows may have several labels: of {show_names(flags)}, {show_count(several, 'row', 'has')} several set and "
        f"{show_count(numbers[0], 'row', 'has')} none. Lens gives a text one label: name one of these columns "
        "(label_column) for a run of its own",
        field=field,
    )


def refuse_lists(column: str, several: Mapping[tuple[str, ...], int], num_rows: int, field: str) -> None:
    """
    Args:
        several: numbers of rows by their labels, of rows with more than one.

    Raises:
        InvalidDataset: there are such rows.
    """
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


def find_lists(counts: Mapping[str, int]) -> dict[tuple[str, ...], int]:
    """The values that are lists of labels with a delimiter, with their numbers: at most one part is no value itself."""
    alone = {label.strip() for label in counts}
    parts = {label: split_labels(label) for label in counts}
    composed = {
        label: tuple(found)
        for label, found in parts.items()
        if len(found) > 1
        and all(found)
        and len(found) - sum(one in alone for one in found) <= 1
        and any(one in alone for one in found)
    }
    return {found: counts[label] for label, found in composed.items()} if len(composed) >= _LEAST_COMPOSED else {}
