"""From the name in a job's spec to a loaded language model."""

import pkgutil

from app.settings import Settings
from lens_engine.cluster.scorer import RayScorer
from lens_engine.errors import UnknownModel
from lens_engine.opening import LanguageModel, open_model
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import remember_pairs
from lens_engine.servers.address import Endpoint
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
        return _open_on_cluster(
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


def _open_on_cluster(
    settings: Settings, reference: str, *, name: str, dtype: str, pair_cache_bytes: int | None, is_search: bool
) -> LanguageModel:
    """As `open_model`, in actors. A single one is enough for rows, which are asked in one call for each batch.

    A connection to Ray begins after the fork, which it does not survive. It ends with its process, however that ends,
    and Ray then ends the actors of the connection.

    Raises:
        LensError: as `RayScorer.start`.
    """
    scorer = RayScorer.start(
        reference,
        actors=settings.ray_actors if is_search else 1,
        address=settings.ray_address,
        dtype=dtype,
        device=settings.device,
        name=name,
    )
    if pair_cache_bytes is None:
        return LanguageModel(scorer)
    return LanguageModel(remember_pairs(scorer, pair_cache_bytes, settings.cache_dir))


def _make_double(reference: str) -> LabelScorer:
    make = pkgutil.resolve_name(reference.removeprefix(TESTING_PREFIX))
    scorer: LabelScorer = make()
    return scorer
