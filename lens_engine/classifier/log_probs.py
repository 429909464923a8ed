"""Class log-probabilities: how scores of labels become them. Numbers of a classifier: how a file holds them."""

from collections.abc import Sequence

import numpy as np

from lens_engine.types import FloatArray

LEAST_LOG_PROB = float(np.log(1e-6))
"""Floor of a class log-probability: a regression gives a label that no fit row has the probability 0."""

BLOCK_ROWS = 4_096
"""Number of rows whose log-probabilities are worked out at a time: 6 MiB for 200 labels."""


def list_blocks(num_rows: int) -> list[slice]:
    """The rows of each block, in order."""
    return [slice(start, start + BLOCK_ROWS) for start in range(0, num_rows, BLOCK_ROWS)]


def normalise(scores: FloatArray) -> FloatArray:
    """Scores of labels -> class log-probabilities (natural log): `[rows, labels]`."""
    from scipy.special import log_softmax  # slow to import

    return np.asarray(np.maximum(log_softmax(scores, axis=1), LEAST_LOG_PROB))


def round_numbers(numbers: FloatArray | Sequence[float], digits: int = 6) -> tuple[float, ...]:
    """Numbers with fewer significant digits, as a file holds them; adding zero makes -0.0 a 0.0."""
    return tuple(float(f"{number:.{digits}g}") + 0.0 for number in numbers)
