"""Several accuracies in one row of a table: mean, spread, range and counts."""

from collections.abc import Sequence

import numpy as np

from experiments.findings.finding import Value
from experiments.laboratory.cells import CalibratedAccuracy

SPREAD_COLUMNS = ("mean", "sd", "least", "most", "calibrated mean", "prompts", "test rows")


def spread_values(accuracies: Sequence[CalibratedAccuracy]) -> tuple[Value, ...]:
    """The values of `SPREAD_COLUMNS`. The sd is that of a sample; a single prompt has none."""
    values = [one.accuracy for one in accuracies]
    return (
        mean(values),
        sample_sd(values),
        min(values),
        max(values),
        mean([one.calibrated_accuracy for one in accuracies]),
        len(values),
        show_rows(accuracies),
    )


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def sample_sd(values: Sequence[float]) -> float | None:
    """Standard deviation with n - 1; None for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def show_rows(accuracies: Sequence[CalibratedAccuracy]) -> int | str:
    """The number of test rows of the accuracies; a range if they differ."""
    least, most = min(one.n for one in accuracies), max(one.n for one in accuracies)
    return least if least == most else f"{least}–{most}"
