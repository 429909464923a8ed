"""Statistics of accuracies: intervals, spreads over permutations, paired comparisons."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lens_engine.result import Spread, Verdict

if TYPE_CHECKING:
    from lens_engine.judging.judgement import Judgement


def interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of the share `hits / n`."""
    from scipy.stats import binomtest  # slow to import; a run needs it only at its end

    found = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    return float(found.low), float(found.high)


def spread(judgements: "Sequence[Judgement]") -> Spread:
    """Mean, sample standard deviation and range of the accuracies of several permutations."""
    accuracies = np.array([judgement.correct.mean() for judgement in judgements])
    calibrated = [accuracy for j in judgements if (accuracy := j.calibrated_accuracy) is not None]
    return Spread(
        mean=float(accuracies.mean()),
        sd=float(accuracies.std(ddof=1)) if len(accuracies) > 1 else 0.0,
        min=float(accuracies.min()),
        max=float(accuracies.max()),
        permutations=len(accuracies),
        n=len(judgements[0].gold),
        calibrated_mean=float(np.mean(calibrated)) if calibrated else None,
    )


def compare(lens: NDArray[np.bool_], rival: NDArray[np.bool_]) -> Verdict:
    """Exact two-sided McNemar test on the rows where exactly one of the two is right."""
    from scipy.stats import binomtest

    only_lens = int((lens & ~rival).sum())
    only_rival = int((rival & ~lens).sum())
    differing = only_lens + only_rival
    p_value = float(binomtest(only_lens, differing).pvalue) if differing else 1.0
    return Verdict(
        better_than_random_and_validation=only_lens > only_rival,
        only_lens_right=only_lens,
        only_rival_right=only_rival,
        p_value=p_value,
    )
