"""Abstaining: how often answers are right if those of a low probability are left to a person."""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lens_engine.types import FloatArray, Record

_SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_SCALE = 10_000


class AnsweredShare(Record):
    """The answers of at least a threshold."""

    threshold: float = Field(description="Least probability of an answer that is given; `answer_above` takes it.")
    share: float = Field(description="Share of the rows whose answer has at least this probability.")
    accuracy: float = Field(description="Accuracy on these rows.")


def measure_shares(confidences: FloatArray, hits: NDArray[np.bool_]) -> tuple[AnsweredShare, ...]:
    """The curve of accuracy against the share answered, from all rows to a tenth of them.

    Thresholds have four decimals, so that a threshold that is read from a table answers the rows that were counted.

    Args:
        confidences: `[rows]`, probability of each answer.
        hits: `[rows]`, whether it is right.
    """
    ordered, n = np.sort(confidences)[::-1], len(confidences)
    least = [float(ordered[int(np.ceil(share * n)) - 1]) for share in _SHARES]
    found = dict.fromkeys(np.floor(one * _SCALE) / _SCALE for one in least)
    given = [(float(threshold), confidences >= threshold) for threshold in found]
    return tuple(
        AnsweredShare(threshold=threshold, share=float(own.mean()), accuracy=float(hits[own].mean()))
        for threshold, own in given
    )
