"""Statistics of accuracies: intervals and paired comparisons."""

import numpy as np
from numpy.typing import NDArray

from lens_engine.result import Verdict


def interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of the share `hits / n`."""
    from scipy.stats import binomtest  # slow to import; a run needs it only at its end

    found = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    return float(found.low), float(found.high)


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
