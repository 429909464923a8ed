"""Affinity: sets of examples that are informative and dissimilar (Li & Qiu 2023, section 3.2).

s(e, E') = I(e, S) - lambda * mean over e' in E' of sim(f(e), f(e')), where f(e) is e's row of the
contribution matrix. The paper gives neither the similarity nor the scales. Here the similarity is the
cosine, and both terms are z-scored over the candidates, so that lambda has the same meaning on every task.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.types import FloatArray, IndexArray

_MIN_GAIN = 1e-9
"""Least gain of an exchange. It exceeds rounding noise, otherwise two equal members would be swapped for ever."""
_ROUNDING = 1e-12
"""Relative spread below which values differ only by rounding."""


@dataclass(frozen=True)
class Affinity:
    """The two terms of s(e, E') for m candidates, z-scored.

    `informativeness  # [m]`; `penalty  # [m, m]`: lambda * similarity, zero on the diagonal.
    """

    informativeness: FloatArray
    penalty: FloatArray

    @classmethod
    def from_features(cls, info_scores: FloatArray, features: FloatArray, diversity_weight: float) -> "Affinity":
        """The affinity from InfoScores `[m]` and features `[m, score_examples]`."""
        similarity = _cosine(features)
        off_diagonal = ~np.eye(len(features), dtype=bool)
        standardised = _z_score(similarity, similarity[off_diagonal])
        return cls(_z_score(info_scores, info_scores), np.where(off_diagonal, diversity_weight * standardised, 0.0))

    def fit(self, members: Sequence[int]) -> FloatArray:
        """s(e, E') of every candidate e against the members E', `[m]`."""
        if not members:
            return self.informativeness
        return np.asarray(self.informativeness - self.penalty[:, list(members)].mean(axis=1))

    def objective(self, members: Sequence[int]) -> float:
        """The sum of s(e, E - e) over the members e of E; `exchange` maximises this sum."""
        chosen = list(members)
        pairs = float(self.penalty[np.ix_(chosen, chosen)].sum())
        return float(self.informativeness[chosen].sum()) - pairs / max(len(chosen) - 1, 1)


def exchange(affinity: Affinity, members: Sequence[int], groups: IndexArray, allowed: IndexArray) -> list[int]:
    """Swap one member for one outsider, the steepest gain first, until no swap gains.

    Args:
        members: the start; indices of candidates.
        groups: `[m]`; a member is swapped only for an outsider of its group (label balance).
        allowed: indices that may become members.

    Returns:
        A local optimum of `Affinity.objective`. On random instances the optimum matches or beats an exact
        solver stopped after 20 s, and takes milliseconds (docs/algorithm.md).
    """
    chosen = list(members)
    if not len(allowed):
        return chosen
    scale = 2.0 / max(len(chosen) - 1, 1)
    informative, own = affinity.informativeness[allowed], groups[allowed]
    penalties = np.ascontiguousarray(affinity.penalty[allowed[:, None], chosen].T)  # [members, outsiders]
    while True:
        pull = affinity.penalty[:, chosen].sum(axis=1)  # [m]
        fits = informative - scale * (pull[allowed] - penalties)
        stays = affinity.informativeness[chosen] - scale * pull[chosen]
        gains = np.where(own == groups[chosen][:, None], fits - stays[:, None], -np.inf)  # [members, outsiders]
        gains[:, np.isin(allowed, chosen)] = -np.inf
        swapped, outsider = divmod(int(gains.argmax()), len(allowed))
        if not gains[swapped, outsider] > _MIN_GAIN:
            return chosen
        chosen[swapped] = int(allowed[outsider])
        penalties[swapped] = affinity.penalty[allowed, chosen[swapped]]


def _cosine(features: FloatArray) -> FloatArray:
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(norms == 0.0, 1.0, norms)
    return np.asarray(unit @ unit.T)


def _z_score(values: FloatArray, population: FloatArray) -> FloatArray:
    """Values in standard deviations from the population's mean; all zero if the population differs only by rounding."""
    spread = float(population.std()) if population.size else 0.0
    if spread <= _ROUNDING * float(np.abs(population).max(initial=0.0)):
        return np.zeros_like(values)
    return (values - float(population.mean())) / spread
