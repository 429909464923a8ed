"""The rivals of the paper's table that choose by a fine-tuned model, by name."""

from lens_engine.config import CoresetMethod
from lens_engine.language_model.fine_tuning.evidence import Select
from lens_engine.methods.coreset.contrastive import cal
from lens_engine.methods.coreset.glister import glister
from lens_engine.methods.coreset.gradient_matching import craig, grad_match
from lens_engine.methods.coreset.herding import herding
from lens_engine.methods.coreset.k_center import k_center
from lens_engine.methods.coreset.submodular import facility_location, graph_cut
from lens_engine.methods.coreset.training_dynamics import forgetting, grand
from lens_engine.methods.coreset.uncertainty import entropy, least_confidence, margin

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
