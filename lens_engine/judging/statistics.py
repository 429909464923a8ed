"""Paired comparison of predictions on the same rows."""

import numpy as np
from numpy.typing import NDArray

from lens_engine.classifier.tested import ClassifierName, Comparison

SIGNIFICANT = 0.05


def compare(name: ClassifierName, ensemble: NDArray[np.bool_], rival: NDArray[np.bool_]) -> Comparison:
    """Exact two-sided McNemar test on the rows where exactly one of the two is right."""
    from scipy.stats import binomtest

    only_ensemble = int((ensemble & ~rival).sum())
    only_rival = int((rival & ~ensemble).sum())
    differing = only_ensemble + only_rival
    p_value = float(binomtest(only_ensemble, differing).pvalue) if differing else 1.0
    return Comparison(
        rival=name,
        only_ensemble_right=only_ensemble,
        only_rival_right=only_rival,
        ensemble_is_ahead=only_ensemble > only_rival,
        p_value=p_value,
        is_significant=p_value < SIGNIFICANT,
    )
