"""The thirteen coreset methods by name. They choose by features, gradients or predictions of a fine-tuned model."""

from collections.abc import Callable, Mapping

import numpy as np

from lab.rivals.evidence import Evidence
from lab.rivals.geometry import cal, herding, k_center
from lab.rivals.glister import glister
from lab.rivals.gradients import craig, facility_location, grad_match, graph_cut
from lab.rivals.hardness import entropy, forgetting, grand, least_confidence, margin
from lens_engine.method.permutations import shuffle
from lens_engine.method.setup import Setup
from lens_engine.randomness import make_generator
from lens_engine.types import Permutation

Select = Callable[[Evidence, tuple[int, ...]], list[int]]
"""Chooses rows of the pool: `select(evidence, quotas)` takes quotas[g] rows from group g.

With a single quota the choice is not label-balanced. Equal arguments give equal rows, in the order of choice; ties go
to the lower row.
"""

SELECTORS: Mapping[str, Select] = {
    "herding": herding,
    "least_confidence": least_confidence,
    "entropy": entropy,
    "margin": margin,
    "cal": cal,
    "forgetting": forgetting,
    "grand": grand,
    "craig": craig,
    "grad_match": grad_match,
    "facility_location": facility_location,
    "graph_cut": graph_cut,
    "glister": glister,
}
METHODS = ("herding", "k_center", *list(SELECTORS)[1:])
"""In the order of the paper's table."""


def choose_coreset(method: str, evidence: Evidence, setup: Setup) -> Permutation:
    """Indices of candidates. A coreset has no order, so its rows get a random one, as in the paper (section 4.1).

    Args:
        evidence: of the model fine-tuned on the candidates of LENS.

    Raises:
        InvalidConfig: the method needs validation rows, and there are none.
    """
    _, quotas = setup.rows.quotas.group(setup.task.index_labels(setup.lens_rows.candidates))
    rng = make_generator(setup.config.seed, method)
    return shuffle(_select(method, evidence, quotas, rng), rng)


def _select(method: str, evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:
    """Call the selector; only k-center draws, its first centre."""
    return k_center(evidence, quotas, rng) if method == "k_center" else SELECTORS[method](evidence, quotas)
