"""Growth with a size: y = factor * size^exponent, by least squares on logarithms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """`exponent` 1 is linear growth, 2 quadratic."""

    factor: float
    exponent: float

    def __call__(self, size: float) -> float:
        return float(self.factor * size**self.exponent)


def fit_power_law(sizes: Sequence[float], values: Sequence[float]) -> PowerLaw:
    """
    Raises:
        ValueError: fewer than two different sizes, or a size or value that is not positive.
    """
    if len(set(sizes)) < 2 or min(*sizes, *values) <= 0:
        raise ValueError("a power law needs two different sizes, and sizes and values above zero")
    exponent, intercept = np.polyfit(np.log(sizes), np.log(values), 1)
    return PowerLaw(float(np.exp(intercept)), float(exponent))
