"""The actor of one device: a process with one loaded model, and its report."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lens_engine.local.processors import let_threads_sleep
from lens_engine.scoring.base import Block, Prefix, ScorerIdentity, score_block
from lens_engine.types import LabelLogProbs, States

if TYPE_CHECKING:
    from lens_engine.local.scorer import CausalLMScorer


@dataclass(frozen=True, slots=True)
class ActorReport:
    """Everything that decides an actor's bits; all actors of a selection must report the same."""

    identity: ScorerIdentity
    max_prompt_tokens: int
    surroundings: tuple[str, ...]  #: as `describe_surroundings`
    num_layers: int = 0  #: decoder layers whose states it shows

    def differences(self, other: "ActorReport") -> list[str]:
        """Each property that differs, as "dtype float32, and dtype bfloat16"."""
        return [
            f"{mine}, and {theirs}"
            for mine, theirs in zip(self._lines(), other._lines(), strict=True)
            if mine != theirs
        ]

    def _lines(self) -> list[str]:
        fields = [f"{name} {value}" for name, value in self.identity.decisive().items()]
        return [*fields, f"context {self.max_prompt_tokens}", *self.surroundings]


@dataclass(frozen=True, slots=True)
class BlockScores:
    """A block's scores, and the token budgets of its forwards."""

    label_log_probs: LabelLogProbs
    asked_budget: int  #: largest forward that the driver asked for (tokens)
    token_budget: int  #: largest forward that was used (tokens)


class ScoringActor:
    """A scorer in its own process."""

    _scorer: "CausalLMScorer"  #: set by `load`

    def load(self, choice: dict[str, Any]) -> ActorReport:
        """Load the model by the arguments of `load_scorer`.

        This is not done in `__init__`, where an error would end the actor and lose its type.

        Raises:
            LensError: as `load_scorer`.
        """
        let_threads_sleep()
        from lens_engine.local.load import load_scorer  # here: the driver does not need torch

        self._scorer = load_scorer(**choice)
        return ActorReport(
            self._scorer.identity, self._scorer.max_prompt_tokens, self._scorer.surroundings, self._scorer.num_layers
        )

    def pid(self) -> int:
        return os.getpid()

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._scorer.count_tokens(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[int, ...]]:
        return self._scorer.encode_label_spans(label_spans)

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        return self._scorer.states(prefix, queries, layers)

    def score(self, block: Block, label_spans: Sequence[str], token_budget: int) -> BlockScores:
        """Score a block in forwards of `token_budget` tokens, or fewer if memory runs out."""
        scorer = self._scorer
        scorer.token_budget = token_budget
        label_log_probs = score_block(scorer, block, label_spans)
        return BlockScores(label_log_probs, token_budget, scorer.token_budget)
