"""The rows on which a head is fitted."""

from collections.abc import Collection

from lens_engine.rows.quotas import count_labels, share_proportionally, take_quotas
from lens_engine.rows.splits import SplitRows
from lens_engine.types import Example


def pick_fit_rows(rows: SplitRows, demonstrations: Collection[int], total: int) -> tuple[Example, ...]:
    """Validation rows, confirmation rows, then others in proportion to their labels, until there are `total`.

    The others are spare rows, then candidates, then score examples. None is a demonstration: after its own text and
    label, a row is no test of a prompt.

    Args:
        demonstrations: numbers of the rows (`Example.row`) that are demonstrations of the prompts.
        total: number of rows; all validation and confirmation rows are taken, even if they are more.
    """
    judged = (*rows.validation, *rows.confirmation)
    others = [one for one in (*rows.spare, *rows.candidates, *rows.score_set) if one.row not in demonstrations]
    labels = tuple(dict.fromkeys(example.label for example in others))
    quotas = share_proportionally(max(total - len(judged), 0), count_labels(others, labels))
    return (*judged, *take_quotas(others, quotas, lambda example: example.label)[0])


def list_labelled_rows(rows: SplitRows) -> tuple[Example, ...]:
    """Every labelled row but the test rows, each text once."""
    return (*rows.validation, *rows.confirmation, *rows.spare, *rows.candidates, *rows.score_set)


def count_fit_rows(rows: SplitRows, num_demonstrations: int, total: int) -> int:
    """Number of rows that `pick_fit_rows` returns for prompts with this many different demonstrations."""
    judged = len(rows.validation) + len(rows.confirmation)
    others = len(rows.spare) + len(rows.candidates) + len(rows.score_set) - num_demonstrations
    return judged + max(min(total - judged, others), 0)
