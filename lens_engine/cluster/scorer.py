"""A `ParallelScorer` with an actor for each device, for one selection on several devices.

Every actor holds the whole model. The driver cuts blocks as for one device, and one actor scores each
block. All actors are of one kind and use the same token budget. So the bits equal those of
`CausalLMScorer` on one such device with the same number of threads.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Self

from lens_engine.cluster.actor import ActorReport, BlockScores
from lens_engine.cluster.placement import find_place
from lens_engine.cluster.team import Team
from lens_engine.scoring.base import Block, Prefix, ScorerIdentity
from lens_engine.types import LabelLogProbs, States

_PATIENCE_SECONDS = 1800.0


class RayScorer:
    """Scores with actors; `close` ends them.

    If an actor runs out of memory at a block, every actor scores this block and all later blocks with the
    halved budget, as one device would have done.
    """

    def __init__(self, team: Team, report: ActorReport, exits: ExitStack) -> None:
        self._team = team
        self._report = report
        self._exits = exits  #: what ends with this scorer
        self.max_prompt_tokens = report.max_prompt_tokens
        self.surroundings = report.surroundings  #: of each actor; those of the driver do not matter
        self.num_workers = team.size
        self._token_budget = report.identity.token_budget

    @classmethod
    def start(
        cls,
        model: str,
        *,
        actors: int | None,
        address: str | None = None,
        dtype: str = "auto",
        device: str = "auto",
        executor: str = "auto",
        threads: int | None = None,
        name: str | None = None,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> Self:
        """Start Ray, or join it, and load the model once in each actor.

        Args:
            model, dtype, executor, name: as `load_scorer`; the first actor decides every "auto" for all actors.
                A path must exist on every machine.
            actors: number of processes that hold the model; on CUDA each has its own GPU.
            address, device, threads: as `find_place` takes them.
            patience_seconds: longest wait for the first actor, or for a new one if all are lost (seconds).

        Raises:
            InvalidConfig: as `find_place`.
            LensError: as `load_scorer`.
            ClusterError: the actors differ, so their numbers would; or actors were lost.
        """
        with ExitStack() as exits:
            place = exits.enter_context(find_place(address, actors, device, threads))
            choice = {"model": model, "name": name, "dtype": dtype, "device": place.device, "executor": executor}
            team = Team(
                choice | {"threads": place.threads},
                place.actors,
                resources=place.needs,
                patience_seconds=patience_seconds,
            )
            exits.callback(team.close)
            return cls(team, team.start(), exits.pop_all())

    @property
    def identity(self) -> ScorerIdentity:
        return dataclasses.replace(self._report.identity, token_budget=self._token_budget)

    @property
    def pids(self) -> list[int]:
        """Process ids of the actors, on their machines."""
        return self._team.pids

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """Count tokens on one actor: the driver needs neither the model's files nor torch."""
        counts: list[int] = next(self._team.run(lambda actor, asked: actor.count_tokens.remote(asked), [segments]))
        return counts

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[int, ...]]:
        """Token ids of each label span, by one actor."""
        spans = tuple(label_spans)
        found: list[tuple[int, ...]] = next(
            self._team.run(lambda actor, asked: actor.encode_label_spans.remote(asked), [spans])
        )
        return found

    @property
    def num_layers(self) -> int:
        return self._report.num_layers

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        """As `StatesScorer.states`; one actor computes all queries."""
        asked = (tuple(prefix), tuple(queries), tuple(layers))
        found: States = next(self._team.run(lambda actor, call: actor.states.remote(*call), [asked]))
        return found.copy()  # Ray's arrays are read-only

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        """As `LabelScorer.score`; one actor scores the whole block."""
        return next(self.score_blocks([Block(tuple(prefixes), tuple(queries))], label_spans))

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        """As `ParallelScorer.score_blocks`.

        Raises:
            ClusterError: too many actors were lost.
            LensError: as `CausalLMScorer.score`, in place of the block's scores.
        """
        spans = tuple(label_spans)

        def is_stale(scores: BlockScores) -> bool:
            return scores.asked_budget != self._token_budget

        answers: Iterator[BlockScores] = self._team.run(
            lambda actor, block: actor.score.remote(block, spans, self._token_budget), blocks, is_stale
        )
        for scores in answers:
            self._token_budget = scores.token_budget
            yield scores.label_log_probs.copy()  # Ray's arrays are read-only

    def close(self) -> None:
        """End the actors, and Ray if this scorer started it."""
        self._exits.close()
