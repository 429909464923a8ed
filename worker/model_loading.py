"""From the name of a model, in the spec of a job or in a classifier, to the model."""

import pkgutil
from dataclasses import dataclass

from app.answers.models import ModelKey, ModelSource, Opened
from app.settings import Settings
from lens_engine.errors import UnknownModel
from lens_engine.model.cluster.scorer import RayScorer
from lens_engine.model.local.model_files import ModelSource as ModelFiles
from lens_engine.model.local.model_files import count_weights, resolve_model
from lens_engine.model.score_cache import remember_pairs
from lens_engine.model.servers.address import Endpoint
from lens_engine.opening import LanguageModel, open_model
from worker.faults import ModelMoved

TESTING_PREFIX = "testing:"
"""`testing:package.module:function` names a function that makes a scorer, where the settings allow it."""

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "auto": 2}


def find_reference(settings: Settings, name: str) -> str | Endpoint:
    """The model that the settings allow under `name`."""
    reference = settings.endpoints.get(name) or settings.allowed_models.get(name)
    if reference is None:
        raise UnknownModel(f"model {name!r} is no longer one of {', '.join(sorted(settings.offered_models))}")
    if settings.queue_of(name) != settings.worker_queue:
        raise ModelMoved(f"model {name!r} moved to the workers of the queue {settings.queue_of(name)}")
    return reference


def load_model(settings: Settings, name: str, dtype: str | None, *, remembers: bool = True) -> LanguageModel:
    """Load the model that the settings allow under `name`, on their device or on those of their cluster.

    A connection to Ray begins after the fork, which it does not survive. It ends with its process, however that ends,
    and Ray then ends the actors of the connection.

    Args:
        dtype: the number format; None for the one in the settings.
        remembers: whether its scores are kept in the pair cache. The answers of a server, which cost money, always are.
    """
    reference = find_reference(settings, name)
    cache_dir, device, dtype = settings.cache_dir, settings.device, dtype or settings.dtype
    kept_bytes = settings.pair_cache_mib << 20 or None
    if isinstance(reference, Endpoint):
        return open_model(reference, name=name, cache_dir=cache_dir, pair_cache_bytes=kept_bytes)
    if reference.startswith(TESTING_PREFIX):
        return LanguageModel(pkgutil.resolve_name(reference.removeprefix(TESTING_PREFIX))())
    kept_bytes = kept_bytes if remembers else None
    if not settings.ray_address:
        return open_model(
            reference, dtype=dtype, device=device, name=name, cache_dir=cache_dir, pair_cache_bytes=kept_bytes
        )
    actors, address = settings.ray_actors, settings.ray_address
    scorer = RayScorer.start(reference, actors=actors, address=address, dtype=dtype, device=device, name=name)
    return LanguageModel(scorer if kept_bytes is None else remember_pairs(scorer, kept_bytes, cache_dir))


def least_bytes(source: ModelFiles, dtype: str) -> int:
    """The size of the weights in the number format. A GGUF file is smaller than its weights, which are dequantised."""
    return source.path.stat().st_size if source.is_gguf else _BYTES[dtype] * count_weights(source.path)


@dataclass(frozen=True, slots=True)
class Weights(ModelSource):
    """The models of `LENS_ALLOWED_MODELS`, each on one device of this machine."""

    settings: Settings

    def weigh(self, key: ModelKey) -> int:
        reference = self.settings.allowed_models.get(key.name)
        if reference is None:
            raise UnknownModel(f"model {key.name!r} is not one of {', '.join(sorted(self.settings.allowed_models))}")
        if reference.startswith(TESTING_PREFIX):
            return 0
        return least_bytes(resolve_model(reference, self.settings.cache_dir), key.dtype)

    def open(self, key: ModelKey) -> Opened:
        scorer = load_model(self.settings, key.name, key.dtype, remembers=False).scorer
        return Opened(scorer, getattr(scorer, "weight_bytes", 0))

    def free(self) -> None:
        from lens_engine.model.local.memory import free_memory  # imports torch

        free_memory()
