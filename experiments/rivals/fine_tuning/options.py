"""Options of the fine-tuning for the coreset selectors."""

from dataclasses import dataclass
from typing import Literal

AutocastFormat = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class FineTuningOptions:
    """Five epochs of AdamW on the whole pool (appendix A). The other defaults are usual for about 100M weights."""

    epochs: int = 5
    batch_size: int = 16  #: examples in a step
    learning_rate: float = 5e-5  #: highest rate; after warm-up the rate falls linearly to 0
    warmup_share: float = 0.1  #: share of all steps in which the rate rises linearly from 0
    weight_decay: float = 0.01  #: applies to matrices, not to biases and norms
    max_gradient_norm: float = 1.0  #: a larger gradient of a batch is scaled down to this norm
    max_tokens: int = 512  #: longest query (tokens); a longer query loses its beginning
    early_epochs: int = 1  #: epochs before the gradient norms for GraNd are measured; 0: before training
    early_runs: int = 1  #: trainings over which GraNd averages; all but one end after `early_epochs`
    autocast: AutocastFormat = "auto"  #: format of matrix products; "auto": bfloat16 if it is materially faster
