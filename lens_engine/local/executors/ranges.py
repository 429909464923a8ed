"""Ranges of tokens that are laid end to end."""

import numpy as np

from lens_engine.local.executors.transfer import IntArray


def ends_of(lengths: IntArray) -> IntArray:
    """0, and where each of the lengths ends when they are laid end to end."""
    return np.concatenate([[0], np.cumsum(lengths)])


def sum_before(lengths: IntArray) -> IntArray:
    """The sum of all lengths before each."""
    sums: IntArray = np.cumsum(lengths) - lengths
    return sums


def join_ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """The numbers of the ranges (start, length), one range after another."""
    joined: IntArray = np.repeat(starts - sum_before(lengths), lengths) + np.arange(int(lengths.sum()))
    return joined
