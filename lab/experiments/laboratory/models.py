"""Models for the cells: one in memory at a time."""

import gc
from dataclasses import dataclass, field

from lab.rivals.fine_tuning.evidence import FineTuner
from lens_engine.open_model import open_model
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import DEFAULT_MAX_BYTES


@dataclass
class LoadedModels:
    """Models of this machine. The newest model is kept; the one before it is released first."""

    device: str = "auto"
    threads: int | None = None
    remembers: bool = True  #: whether scores are looked up in the pair cache and kept there
    _newest: tuple[tuple[str, str], LabelScorer] | None = field(default=None, init=False)

    def open(self, reference: str, dtype: str) -> LabelScorer:
        """A model in this number format; equal arguments give equal scores.

        Raises:
            UnknownModel, UnsafeModel, InvalidConfig, ModelError: as `load_scorer`.
        """
        wanted = (reference, dtype)
        if self._newest is None or self._newest[0] != wanted:
            self._newest = None
            gc.collect()  # two models at once may be more than the memory holds
            opened = open_model(
                reference,
                dtype=dtype,
                device=self.device,
                threads=self.threads,
                pair_cache_bytes=DEFAULT_MAX_BYTES if self.remembers else None,
            )
            self._newest = (wanted, opened.scorer)
        return self._newest[1]

    def fine_tuner(self, reference: str) -> FineTuner:
        """What trains this model for the coreset methods."""
        from lab.rivals.fine_tuning.fine_tune import FineTunedModel  # imports torch

        return FineTunedModel(reference, self.device)
