"""What runs beside each device: one model, loaded once, and what it says about itself."""

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lens_engine
from lens_engine.scoring.base import Block, ScorerIdentity
from lens_engine.types import LabelLogProbs

if TYPE_CHECKING:
    from lens_engine.scoring.scorer import CausalLMScorer


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The arguments of `load_scorer`."""

    model: str
    dtype: str
    device: str
    executor: str
    threads: int | None
    name: str | None

    def settled_by(self, report: "ActorReport") -> "ModelChoice":
        """With what the first actor made of `auto`; a measurement could come out otherwise on the next."""
        return dataclasses.replace(self, dtype=report.identity.dtype, executor=report.identity.executor)


@dataclass(frozen=True, slots=True)
class ActorReport:
    """All that decides an actor's bits; two actors that share a selection must report the same."""

    identity: ScorerIdentity
    max_prompt_tokens: int
    processor: str  #: the GPU's name, or the vector instructions of the CPU
    threads: int  #: of torch on the CPU
    lens_version: str
    torch_version: str

    def differences(self, other: "ActorReport") -> list[str]:
        """Each field that differs, as "dtype: float32 and bfloat16"."""
        mine, theirs = _flat(self), _flat(other)
        return [f"{name}: {mine[name]} and {theirs[name]}" for name in mine if mine[name] != theirs[name]]


@dataclass(frozen=True, slots=True)
class BlockScores:
    """A block's scores and how its forwards were cut."""

    label_log_probs: LabelLogProbs
    asked_budget: int  #: tokens a forward, as the driver wanted it
    token_budget: int  #: as it was, in the end


class ScoringActor:
    """A scorer in a process of its own."""

    def __init__(self) -> None:
        self._scorer: CausalLMScorer | None = None

    def load(self, choice: ModelChoice) -> ActorReport:
        """Load the model. Apart from `__init__`, since an error of that would cost the actor's life and its own type.

        Raises:
            LensError: as `load_scorer`.
        """
        import torch  # here and below: the driver has no need of it

        from lens_engine.scoring.causal_lm import load_scorer

        self._scorer = load_scorer(**dataclasses.asdict(choice))
        is_cuda = self._scorer.identity.device == "cuda"
        return ActorReport(
            identity=self._scorer.identity,
            max_prompt_tokens=self._scorer.max_prompt_tokens,
            processor=torch.cuda.get_device_name() if is_cuda else torch.backends.cpu.get_cpu_capability(),
            threads=torch.get_num_threads(),
            lens_version=lens_engine.__version__,
            torch_version=torch.__version__,
        )

    def pid(self) -> int:
        return os.getpid()

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._loaded.count_tokens(segments)

    def score(self, block: Block, label_spans: Sequence[str], token_budget: int) -> BlockScores:
        """Score a block in forwards of `token_budget` tokens, or fewer where memory runs out."""
        scorer = self._loaded
        scorer.token_budget = token_budget
        label_log_probs = scorer.score(block.prefixes, block.queries, label_spans)
        return BlockScores(label_log_probs, token_budget, scorer.token_budget)

    @property
    def _loaded(self) -> "CausalLMScorer":
        if self._scorer is None:
            raise RuntimeError("no model has been loaded")
        return self._scorer


def _flat(report: ActorReport) -> dict[str, object]:
    fields = dataclasses.asdict(report)
    return {**fields.pop("identity"), **fields}
