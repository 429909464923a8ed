"""Means over seeds and datasets, and how sure they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval; no bounds where a dataset has a single seed, or no seed differs from another."""

    mean: float
    bounds: tuple[float, float] | None


def estimate_mean(strata: Sequence[Sequence[float]]) -> Estimate:
    """The mean over strata (datasets) of the means within them (over seeds).

    The interval is Student's, from the spread within each stratum; the strata themselves count as fixed.
    Degrees of freedom after Welch and Satterthwaite.

    Raises:
        ValueError: there is no stratum, or one without values.
    """
    if not strata or not all(strata):
        raise ValueError("a mean of nothing was asked for")
    mean = float(np.mean([np.mean(values) for values in strata]))
    if any(len(values) < 2 for values in strata):
        return Estimate(mean, None)
    variances = np.array([np.var(values, ddof=1) / len(values) for values in strata])
    if not variances.any():  # as for a prompt that always gives one label: stratified test rows leave no spread
        return Estimate(mean, None)
    half = _half_width(variances, np.array([len(values) - 1 for values in strata]))
    return Estimate(mean, (mean - half, mean + half))


def estimate_lead(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> Estimate:
    """How far ours are ahead of theirs: as `estimate_mean`, of the differences seed by seed."""
    return estimate_mean([np.subtract(*pair).tolist() for pair in zip(ours, theirs, strict=True)])


def _half_width(variances: "np.typing.NDArray[np.float64]", freedoms: "np.typing.NDArray[np.intp]") -> float:
    from scipy.stats import t  # heavy; only a finished table needs it

    degrees = variances.sum() ** 2 / (variances**2 / freedoms).sum()
    return float(t.ppf((1 + CONFIDENCE) / 2, degrees) * np.sqrt(variances.sum()) / len(variances))
