"""Paired comparison of predictions on the same rows."""

import numpy as np
from numpy.typing import NDArray

from lens_engine.result import Comparison, ContenderName

SIGNIFICANT = 0.05


def compare(name: ContenderName, classifier: NDArray[np.bool_], rival: NDArray[np.bool_]) -> Comparison:
    """Exact two-sided McNemar test on the rows where exactly one of the two is right."""
    from scipy.stats import binomtest

    only_classifier = int((classifier & ~rival).sum())
    only_rival = int((rival & ~classifier).sum())
    differing = only_classifier + only_rival
    p_value = float(binomtest(only_classifier, differing).pvalue) if differing else 1.0
    return Comparison(
        rival=name,
        ahead=only_classifier > only_rival,
        significant=p_value < SIGNIFICANT,
        only_classifier_right=only_classifier,
        only_rival_right=only_rival,
        p_value=p_value,
    )
