"""Selectors by geometry: rows that cover the feature space, or rows whose neighbours are predicted differently.

Herding: rows whose running mean stays close to the mean of all rows. Welling, "Herding dynamical weights to learn"
(ICML 2009); Chen, Welling & Smola, "Super-samples from kernel herding" (UAI 2010).

k-center greedy: rows such that every other row is near a chosen one. Sener & Savarese, "Active learning for
convolutional neural networks: a core-set approach" (ICLR 2018), algorithm 1. The distance is Euclidean in feature
space, and the first centre random. The greedy choice has at most twice the least possible radius.

CAL: rows with near neighbours that are predicted differently. Margatina et al., "Active learning by acquiring
contrastive examples" (EMNLP 2021). In the paper the neighbours of an unlabelled candidate are labelled examples. Here
every row is labelled, so the neighbours are the other rows of the pool, whatever their label. CAL takes the rows with
the highest scores in each group.

Herding and k-center choose within each group, as in Guo et al., "DeepCore" (DEXA 2022).
"""

import numpy as np
from scipy.special import rel_entr

from lab.rivals.choosing import LEAST_PROBABILITY, choose_highest, choose_within, first_best
from lab.rivals.evidence import Evidence
from lens_engine.types import FloatArray, IndexArray

_NEIGHBOURS = 10
"""Number of neighbours in CAL, as in its paper."""


def herding(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Each pick minimises the Euclidean distance between the group's mean feature and the mean of the chosen features.

    Welling's rule picks the largest inner product with (number of picks * mean - sum of picks). Both rules are the same
    if all features have the same norm; otherwise Welling's rule prefers features with a large norm.
    """
    return choose_within(evidence.groups, quotas, lambda rows, quota: _follow_mean(evidence.features[rows], quota))


def _follow_mean(features: FloatArray, count: int) -> list[int]:
    mean = features.mean(axis=0)
    gathered = np.zeros_like(mean)
    is_open = np.ones(len(features), dtype=bool)
    chosen: list[int] = []
    for size in range(1, count + 1):
        distances = np.linalg.norm((gathered + features) / size - mean, axis=1)  # [rows] if picked next
        place = first_best(np.where(is_open, -distances, -np.inf))
        chosen.append(place)
        is_open[place] = False
        gathered += features[place]
    return chosen


def k_center(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:
    """First a random row of the group, then repeatedly the row farthest from its nearest centre."""
    return choose_within(
        evidence.groups,
        quotas,
        lambda rows, quota: _spread(evidence.features[rows], quota, int(rng.integers(len(rows)))),
    )


def _spread(features: FloatArray, count: int, first: int) -> list[int]:
    chosen = [first]
    nearest = np.full(len(features), np.inf)  # [rows] distance to the nearest centre
    for _ in range(count - 1):
        nearest = np.minimum(nearest, np.linalg.norm(features - features[chosen[-1]], axis=1))
        nearest[chosen] = -np.inf
        chosen.append(first_best(nearest))
    return chosen


def cal(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows with the highest mean KL divergence (nats) of the ten nearest neighbours' probabilities from their own."""
    neighbours = _nearest(evidence.features)
    return choose_highest(evidence.groups, quotas, _mean_divergence(evidence.probabilities, neighbours))


def _nearest(features: FloatArray) -> IndexArray:
    """The nearest other rows of each row, by Euclidean distance  # [rows, neighbours]."""
    count = min(_NEIGHBOURS, len(features) - 1)
    if count < 1:
        return np.empty((len(features), 0), dtype=np.intp)
    from sklearn.neighbors import NearestNeighbors  # slow to import; no other method needs it

    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features)  # type: ignore[no-untyped-call]
    # Called without rows, kneighbors leaves each row out of its own neighbours.
    return np.asarray(search.kneighbors(return_distance=False), dtype=np.intp)


def _mean_divergence(probabilities: FloatArray, neighbours: IndexArray) -> FloatArray:
    """Mean over neighbours of KL(p of the neighbour || p of the row)  # [rows]; zero if a row has no neighbour."""
    floored = np.maximum(probabilities, LEAST_PROBABILITY)
    total = np.zeros(len(floored))
    # One neighbour of every row at a time: [rows, labels], not [rows, neighbours, labels].
    for column in neighbours.T:
        total += rel_entr(floored[column], floored).sum(axis=1)
    return np.asarray(total / max(neighbours.shape[1], 1))
