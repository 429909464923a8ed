"""Choices that fill quotas: choose within each group, or take the highest scores of each group."""

from collections.abc import Callable, Iterator

import numpy as np

from lens_engine.types import FloatArray, IndexArray

LEAST_PROBABILITY = 1e-12
"""Lower bound of a probability, so that one rounded to zero in float32 has a logarithm."""

_ROUNDING = 1e-9
"""Values that differ by less than this share of the best count as equal, because sums of other shapes round
differently."""


def partition(groups: IndexArray, quotas: tuple[int, ...]) -> Iterator[tuple[IndexArray, int]]:
    """The rows and the quota of each group; with a single quota (no label balance), all rows and that quota.

    The dealing sees to it that a group has as many rows as its quota.
    """
    for group, quota in enumerate(quotas):
        rows = np.arange(len(groups)) if len(quotas) == 1 else np.flatnonzero(groups == group)
        yield rows, quota


def choose_within(
    groups: IndexArray, quotas: tuple[int, ...], choose: Callable[[IndexArray, int], IndexArray | list[int]]
) -> list[int]:
    """Call `choose(rows, quota)` for each group, and map the places it returns to rows of the pool; group by group."""
    chosen: list[int] = []
    for rows, quota in partition(groups, quotas):
        if quota:
            chosen += rows[np.asarray(choose(rows, quota), dtype=np.intp)].tolist()
    return chosen


def choose_highest(groups: IndexArray, quotas: tuple[int, ...], scores: FloatArray) -> list[int]:
    """The rows with the highest scores `[rows]` in each group, best first; ties go to the lower row."""
    return choose_within(groups, quotas, lambda rows, quota: np.argsort(-scores[rows], kind="stable")[:quota])


def first_best(values: FloatArray) -> int:
    """Index of the highest value; of values that are equal up to rounding, the first."""
    best = float(values.max())
    return int(np.argmax(values >= best - _ROUNDING * abs(best)))
