"""A sample of rows for advice on a dataset: some of each label, and bounded in rows and characters."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, takewhile
from random import Random

_SEED = 0


def draw_sample(rows: Sequence[tuple[str, int]], most_rows: int, most_characters: int) -> list[int]:
    """Draw rows at random, and return their indexes in order: all of them if they fit.

    Half of the sample goes to the labels in equal parts, so that a rare label keeps its rows; the other half is drawn
    from all rows. If the characters do not suffice, every label has a row before one has a second. The same rows give
    the same sample.

    Args:
        rows: label and length (characters) of each row.
        most_rows, most_characters: bounds of the sample.
    """
    if len(rows) <= most_rows and sum(length for _, length in rows) <= most_characters:
        return list(range(len(rows)))
    each = most_rows // (2 * len({label for label, _ in rows}))
    taken, first, others = Counter[str](), list[tuple[int, int]](), list[int]()
    for index in Random(_SEED).sample(range(len(rows)), len(rows)):
        label = rows[index][0]
        if taken[label] < each:
            first.append((taken[label], index))
        else:
            others.append(index)
        taken[label] += 1
    order = [index for _, index in sorted(first, key=lambda one: one[0])] + others
    ends = accumulate(rows[index][1] for index in order)
    fitting = sum(1 for _ in takewhile(lambda end: end <= most_characters, ends))
    return sorted(order[: min(most_rows, max(1, fitting))])
