"""CAL: examples that look like others and are predicted otherwise.

Margatina et al., "Active learning by acquiring contrastive examples" (EMNLP 2021). There the neighbours of an
unlabelled candidate are labelled examples; here everything is labelled, so they are the rest of the pool,
whatever their label. The best of each group are taken.
"""

import numpy as np
from scipy.special import rel_entr

from lens_engine.language_model.fine_tuning.evidence import Evidence
from lens_engine.methods.coreset.group_choice import choose_highest
from lens_engine.types import FloatArray, IndexArray

_NEIGHBOURS = 10
"""As the paper has it."""
_LEAST_PROBABILITY = 1e-12
"""A probability that float32 rounded to zero must not make a divergence infinite."""


def cal(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """The highest mean KL divergence, nats, of the ten nearest neighbours' probabilities from the row's own."""
    neighbours = _nearest(evidence.features)
    return choose_highest(evidence.groups, quotas, _mean_divergence(evidence.probabilities, neighbours))


def _nearest(features: FloatArray) -> IndexArray:
    """The nearest other rows of each, Euclidean  # [rows, neighbours]."""
    count = min(_NEIGHBOURS, len(features) - 1)
    if count < 1:
        return np.empty((len(features), 0), dtype=np.intp)
    from sklearn.neighbors import NearestNeighbors  # heavy; no other method needs it

    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features)  # type: ignore[no-untyped-call]
    # Asked without rows, it leaves each row out of its own neighbours.
    return np.asarray(search.kneighbors(return_distance=False), dtype=np.intp)


def _mean_divergence(probabilities: FloatArray, neighbours: IndexArray) -> FloatArray:
    """Mean over neighbours of KL(p of the neighbour || p of the row)  # [rows]; zero where there is none."""
    floored = np.maximum(probabilities, _LEAST_PROBABILITY)
    total = np.zeros(len(floored))
    for column in neighbours.T:  # one neighbour of every row at a time: [rows, labels], not [rows, neighbours, labels]
        total += rel_entr(floored[column], floored).sum(axis=1)
    return np.asarray(total / max(neighbours.shape[1], 1))
