"""Examples that training found hard: often forgotten, or pulling hard at the start. The best of each group.

Forgetting: Toneva et al., "An empirical study of example forgetting during deep neural network learning"
(ICLR 2019). GraNd: Paul, Ganguli & Dziugaite, "Deep learning on a data diet" (NeurIPS 2021).
"""

import numpy as np
from numpy.typing import NDArray

from lens_engine.language_model.fine_tuning.evidence import Evidence
from lens_engine.methods.coreset.group_choice import choose_highest
from lens_engine.types import FloatArray


def forgetting(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """The most forgetting events; an example that was never right comes before all others."""
    return choose_highest(evidence.groups, quotas, count_forgetting(evidence.correct_by_epoch))


def grand(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """The largest norm of the final layer's gradient after `early_epochs` of training, a mean over runs.

    That is after the first epoch unless `FineTuningOptions` says otherwise, and by the same weights for all rows.
    The paper takes the gradient by all weights; DeepCore the final layer's, as here.
    """
    return choose_highest(evidence.groups, quotas, evidence.early_gradient_norms.mean(axis=0))


def count_forgetting(correct_by_epoch: NDArray[np.bool_]) -> FloatArray:
    """Times each example was right in one epoch and wrong in the next  # [rows]; infinite if it was never right."""
    events = (correct_by_epoch[:-1] & ~correct_by_epoch[1:]).sum(axis=0).astype(np.float64)
    return np.where(correct_by_epoch.any(axis=0), events, np.inf)
