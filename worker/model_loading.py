"""From the name in a job's spec to a loaded language model."""

import pkgutil

from app.settings import Settings
from lens_engine.errors import UnknownModel
from lens_engine.open_model import LanguageModel, open_model
from lens_engine.scoring.base import LabelScorer
from lens_engine.servers.address import Endpoint
from worker.cluster import open_on_cluster
from worker.faults import ModelMoved

TESTING_PREFIX = "testing:"
"""`testing:package.module:function` names a function that makes a scorer, where the settings allow it."""


def find_reference(settings: Settings, name: str) -> str | Endpoint:
    """The model that the settings allow under `name`.

    Raises:
        UnknownModel: the settings no longer allow this name.
        ModelMoved: the workers of another queue have the model.
    """
    reference = settings.endpoints.get(name) or settings.allowed_models.get(name)
    if reference is None:
        raise UnknownModel(f"model {name!r} is no longer one of {', '.join(sorted(settings.offered_models))}")
    if settings.queue_of(name) != settings.worker_queue:
        raise ModelMoved(f"model {name!r} moved to the workers of the queue {settings.queue_of(name)}")
    return reference


def load_model(settings: Settings, name: str, dtype: str | None, *, is_search: bool = True) -> LanguageModel:
    """Load the model that the settings allow under `name`, on their device or on those of their cluster.

    Args:
        dtype: the number format; None for the one in the settings.
        is_search: whether a selection asks it: its scores are kept in the pair cache, and several devices share it.

    Raises:
        UnknownModel, ModelMoved: as `find_reference`.
        InvalidConfig: the cluster cannot be reached, or is too small.
        ModelError: the model cannot be loaded, or its files are unsafe.
    """
    reference = find_reference(settings, name)
    cache_bytes = settings.pair_cache_mib << 20 or None
    if isinstance(reference, Endpoint):  # its answers are paid for
        return open_model(reference, name=name, cache_dir=settings.cache_dir, pair_cache_bytes=cache_bytes)
    if reference.startswith(TESTING_PREFIX):
        return LanguageModel(_make_double(reference))
    dtype = dtype or settings.dtype
    cache_bytes = cache_bytes if is_search else None
    if settings.ray_address:
        return open_on_cluster(
            settings, reference, name=name, dtype=dtype, pair_cache_bytes=cache_bytes, is_search=is_search
        )
    return open_model(
        reference,
        dtype=dtype,
        device=settings.device,
        name=name,
        cache_dir=settings.cache_dir,
        pair_cache_bytes=cache_bytes,
    )


def _make_double(reference: str) -> LabelScorer:
    make = pkgutil.resolve_name(reference.removeprefix(TESTING_PREFIX))
    scorer: LabelScorer = make()
    return scorer
