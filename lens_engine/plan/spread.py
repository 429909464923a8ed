"""An order of rows in which every beginning has the groups in proportion."""

import numpy as np

from lens_engine.types import FloatArray, IndexArray


def spread_evenly(groups: IndexArray) -> FloatArray:
    """Sort keys in [0, 1] that spread the rows of each group evenly  # [rows].

    In the order of these keys, every beginning has the groups in proportion.
    """
    places = np.empty(len(groups))
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        places[own] = (np.arange(len(own)) + 0.5) / len(own)
    return places
