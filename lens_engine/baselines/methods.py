"""The rivals of the paper's table that choose by a fine-tuned model, by name."""

from lens_engine.baselines.contrastive import cal
from lens_engine.baselines.evidence import Select
from lens_engine.baselines.glister import glister
from lens_engine.baselines.gradient_matching import craig, grad_match
from lens_engine.baselines.herding import herding
from lens_engine.baselines.k_center import k_center
from lens_engine.baselines.submodular import facility_location, graph_cut
from lens_engine.baselines.training_dynamics import forgetting, grand
from lens_engine.baselines.uncertainty import entropy, least_confidence, margin
from lens_engine.config import CoresetMethod

SELECTORS: dict[CoresetMethod, Select] = {
    "herding": herding,
    "k_center": k_center,
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
