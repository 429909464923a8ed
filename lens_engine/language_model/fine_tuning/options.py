"""How the model behind the coreset selectors is fine-tuned. Imports no torch, so that a spec can hold it."""

import math
from dataclasses import dataclass
from typing import Literal

from lens_engine.errors import InvalidConfig

AutocastFormat = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class FineTuningOptions:
    """Five epochs of AdamW over the whole pool; the rest is what is usual for a model of some 100M weights.

    Raises:
        InvalidConfig: an option is out of range; `field` names it.
    """

    epochs: int = 5
    batch_size: int = 16  #: examples a step
    learning_rate: float = 5e-5  #: the highest: after warm-up it falls to 0 along a line
    warmup_share: float = 0.1  #: of all steps, in which the rate rises from 0 along a line
    weight_decay: float = 0.01  #: of matrices; biases and norms are left alone
    max_gradient_norm: float = 1.0  #: longer gradients of a batch are shortened to it
    max_tokens: int = 512  #: of a query; a longer one loses its beginning
    early_epochs: int = 1  #: epochs before the gradient norms for GraNd are taken; 0 is at initialisation
    early_runs: int = 1  #: trainings whose early norms GraNd averages; each but one ends after `early_epochs`
    autocast: AutocastFormat = "auto"  #: of matrix products; "auto" is bfloat16 where it is materially faster

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "max_tokens", "early_runs"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        for name in ("learning_rate", "max_gradient_norm"):
            self._require(name, 0 < getattr(self, name) < math.inf, "above 0")
        self._require("weight_decay", 0 <= self.weight_decay < math.inf, "at least 0")
        self._require("warmup_share", 0 <= self.warmup_share <= 1, "between 0 and 1")
        self._require("early_epochs", 0 <= self.early_epochs <= self.epochs, f"between 0 and epochs ({self.epochs})")
        formats = ("auto", "float32", "bfloat16")
        self._require("autocast", self.autocast in formats, f"one of {', '.join(formats)}")

    def _require(self, name: str, is_met: bool, bounds: str) -> None:
        if not is_met:
            raise InvalidConfig(f"{name} is {getattr(self, name)!r}, but must be {bounds}", field=name)
