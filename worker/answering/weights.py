"""Opens the models whose weights are on this machine."""

from dataclasses import dataclass

from app.answering.models import ModelKey, Opened
from app.settings import Settings
from lens_engine.errors import UnknownModel
from lens_engine.local.model_files import resolve_model
from worker.device import Device
from worker.inspection import least_bytes
from worker.model_loading import TESTING_PREFIX, load_model

_SHARE = 0.5
"""Of the memory of the device, which weights take where the settings say nothing."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The models of `LENS_ALLOWED_MODELS`, each on one device of this machine."""

    settings: Settings

    def weigh(self, key: ModelKey) -> int:
        """As `ModelSource.weigh`; of a GGUF file its size, which its weights exceed."""
        reference = self.settings.allowed_models.get(key.name)
        if reference is None:
            raise UnknownModel(f"model {key.name!r} is not one of {', '.join(sorted(self.settings.allowed_models))}")
        if reference.startswith(TESTING_PREFIX):
            return 0
        return least_bytes(resolve_model(reference, self.settings.cache_dir), key.dtype)

    def open(self, key: ModelKey) -> Opened:
        scorer = load_model(self.settings, key.name, key.dtype, is_search=False).scorer
        return Opened(scorer, getattr(scorer, "weight_bytes", 0))

    def free(self) -> None:
        from lens_engine.local.memory import free_memory  # imports torch

        free_memory()


def find_most_bytes(settings: Settings, device: Device) -> int:
    """How much memory weights may take."""
    if settings.answers_memory_mib is not None:
        return settings.answers_memory_mib << 20
    from lens_engine.local.float32_room import machine_bytes  # imports torch

    return int(_SHARE * (device.total_bytes or machine_bytes()))
