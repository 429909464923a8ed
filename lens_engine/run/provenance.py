"""Where a result comes from."""

from lens_engine.result import Provenance
from lens_engine.rows.problem import digest_examples
from lens_engine.run.preparation import PreparedRun
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import SituatedScorer, find_computing
from lens_engine.version import __version__

_GPU = "GPU "
"""How `describe_surroundings` begins the line that names the GPU."""


def describe_provenance(prepared: PreparedRun) -> Provenance:
    """Everything needed to repeat the run."""
    scorer = prepared.meter.scorer
    identity, problem, config = scorer.identity, prepared.problem, prepared.run.config
    return Provenance(
        lens=__version__,
        model=identity.model,
        revision=identity.revision,
        dtype=identity.dtype,
        device=identity.device,
        device_name=_find_device_name(scorer),
        executor=identity.executor,
        executor_note=identity.executor_note,
        seed=config.seed,
        dataset_sha256=digest_examples(problem.examples),
        test_sha256=None if problem.test is None else digest_examples(problem.test),
        config=config.model_dump(mode="json"),
    )


def _find_device_name(scorer: LabelScorer) -> str | None:
    """Name of the GPU, for example "NVIDIA H200". None on a processor, and for a scorer that does not know it."""
    facts = found.surroundings if isinstance(found := find_computing(scorer), SituatedScorer) else ()
    return next((fact.removeprefix(_GPU) for fact in facts if fact.startswith(_GPU)), None)
