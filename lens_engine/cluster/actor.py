"""The actor of one device: a process with one loaded model, and its report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lens_engine.errors import ClusterError
from lens_engine.local.processors import let_threads_sleep
from lens_engine.scoring.base import Block, ScorerIdentity, score_block
from lens_engine.types import LabelLogProbs


@dataclass(frozen=True, slots=True)
class ActorReport:
    """What decides an actor's bits; all actors of a selection must report the same."""

    identity: ScorerIdentity
    max_prompt_tokens: int
    surroundings: tuple[str, ...]  #: as `describe_surroundings`
    num_layers: int = 0  #: decoder layers whose states it shows

    def check(self, first: "ActorReport") -> None:
        """Refuse a report that is not that of the first actor (ClusterError)."""
        pairs = zip(first._lines(), self._lines(), strict=True)
        if differences := [f"{theirs}, and {ours}" for theirs, ours in pairs if theirs != ours]:
            raise ClusterError(
                f"the actors would not give the same numbers; {'; '.join(differences)}: use machines of one kind "
                "with the same release and the same model files"
            )

    def _lines(self) -> list[str]:
        fields = [f"{name} {value}" for name, value in self.identity.decisive().items()]
        return [*fields, f"context {self.max_prompt_tokens}", *self.surroundings]


class Setup(NamedTuple):
    """What an actor loads, and what it must report then."""

    choice: dict[str, Any]  #: arguments of `load_scorer`
    report: ActorReport | None = None  #: of the first actor; None before it has loaded


class ScoringActor:
    """A scorer in its own process. Ray makes a lost one anew, so each call brings what it needs to load the model."""

    _scorer: Any
    _report: ActorReport | None = None

    def load(self, setup: Setup) -> ActorReport:
        """Load the model, if it is not loaded; raises what `load_scorer` raises, and ClusterError."""
        if self._report is None:
            self._scorer = found = self._make_scorer(setup.choice)
            report = ActorReport(found.identity, found.max_prompt_tokens, found.surroundings, found.num_layers)
            report.check(setup.report or report)
            self._report = report
        return self._report

    def call(self, setup: Setup, method: str, *given: Any) -> Any:
        """What a method of the scorer returns."""
        self.load(setup)
        return getattr(self._scorer, method)(*given)

    def score(self, setup: Setup, block: Block, spans: Sequence[str], token_budget: int) -> tuple[LabelLogProbs, int]:
        """The scores of a block, and the largest forward that was used (tokens): less where memory ran out."""
        self.load(setup)
        self._scorer.token_budget = token_budget
        return score_block(self._scorer, block, spans), self._scorer.token_budget

    def _make_scorer(self, choice: dict[str, Any]) -> Any:
        let_threads_sleep()
        from lens_engine.local.load import load_scorer  # here: the driver does not need torch

        return load_scorer(**choice)
