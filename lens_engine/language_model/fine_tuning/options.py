"""How the model behind the coreset selectors is fine-tuned."""

from dataclasses import dataclass
from typing import Literal

AutocastFormat = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class FineTuningOptions:
    """Five epochs of AdamW over the whole pool (appendix A); the rest is usual for a model of some 100M weights."""

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
