"""Models for the cells: one in memory at a time."""

import gc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import remember_pairs

if TYPE_CHECKING:
    from lens_engine.language_model.fine_tuning.evidence import FineTuner


class Models(Protocol):
    """Where a laboratory has its models from."""

    def scorer(self, reference: str, dtype: str) -> LabelScorer:
        """A scorer of this model; equal arguments give equal scores."""
        ...

    def fine_tuner(self, reference: str) -> "FineTuner":
        """What fine-tunes this model, for methods that choose by a fine-tuned one."""
        ...


@dataclass
class LoadedModels:
    """Models of this machine. The newest scorer is kept; the one before it is let go first."""

    device: str = "auto"
    threads: int | None = None
    remembers: bool = True  #: whether scores are looked up in the pair cache and kept there
    _newest: tuple[tuple[str, str], LabelScorer] | None = field(default=None, init=False)

    def scorer(self, reference: str, dtype: str) -> LabelScorer:
        """
        Raises:
            UnknownModel, UnsafeModel, InvalidConfig, ModelError: as `load_scorer`.
        """
        wanted = (reference, dtype)
        if self._newest is None or self._newest[0] != wanted:
            self._newest = None
            gc.collect()  # two models at once may be more than the memory holds
            self._newest = (wanted, self._load(reference, dtype))
        return self._newest[1]

    def fine_tuner(self, reference: str) -> "FineTuner":
        from lens_engine.language_model.fine_tuning.fine_tune import FineTunedModel

        return FineTunedModel(reference, self.device)

    def _load(self, reference: str, dtype: str) -> LabelScorer:
        from lens_engine.language_model.loading.load import load_scorer

        scorer = load_scorer(reference, dtype=dtype, device=self.device, threads=self.threads)
        return remember_pairs(scorer) if self.remembers else scorer
