"""The name of the GPU that computed, for the provenance of a result."""

from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import SituatedScorer, find_computing

_GPU = "GPU "
"""How `describe_surroundings` begins the line that names the GPU."""


def find_device_name(scorer: LabelScorer) -> str | None:
    """Name of the GPU, for example "NVIDIA H200". None on a processor, and for a scorer that does not know it."""
    scorer = find_computing(scorer)
    facts = scorer.surroundings if isinstance(scorer, SituatedScorer) else ()
    return next((fact.removeprefix(_GPU) for fact in facts if fact.startswith(_GPU)), None)
