"""The rows on which a head is fitted."""

from collections.abc import Collection, Sequence

from lens_engine.rows.dealing import DealtRows
from lens_engine.rows.quotas import count_labels, share_proportionally, take_quotas
from lens_engine.types import Example


def pick_fit_rows(rows: DealtRows, demonstrations: Collection[int], total: int) -> tuple[Example, ...]:
    """Judging rows, then others in proportion to their labels, until there are `total`. None is a demonstration: after
    its own text and label, a row is no test of a prompt.

    Args:
        demonstrations: numbers of the rows (`Example.row`) that are demonstrations of the prompt.
        total: number of rows; all judging rows are taken, even if they are more.
    """
    judging, others = (
        [one for one in part if one.row not in demonstrations] for part in (rows.judging, (*rows.search, *rows.rest))
    )
    labels = tuple(dict.fromkeys(example.label for example in others))
    quotas = share_proportionally(max(total - len(judging), 0), count_labels(others, labels))
    return (*judging, *take_quotas(others, quotas, lambda example: example.label)[0])


def count_fit_rows(rows: DealtRows, total: int) -> int:
    """The most rows that `pick_fit_rows` returns."""
    others = len(rows.search) + len(rows.rest)
    return len(rows.judging) + max(min(total - len(rows.judging), others), 0)


def index_rows(examples: Sequence[Example]) -> dict[int, int]:
    """The place of each row, by its number."""
    return {one.row: place for place, one in enumerate(examples)}
