"""Everything a run has found so far, as one value that fits into a checkpoint."""

from dataclasses import dataclass, field

from lens_engine.judging.score import Standing
from lens_engine.methods.lens.beam import SearchState
from lens_engine.methods.lens.filtering import FilterState
from lens_engine.pricing.prices import Cost
from lens_engine.result import Accuracy, Baselines, Record, Spread, Verdict
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import Permutation, Phase


class RandomTally(Record):
    """Random-and-validation so far: the best of the permutations drawn."""

    drawn: int = 0  #: judged, in whole or in part
    best: int | None = None  #: its number in the order drawn
    standing: Standing | None = None


class Assessment(Record):
    """What the evaluation phase has found; `done` names its finished steps."""

    done: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  #: steps the budget did not cover
    chosen: Permutation | None = None  #: indices into the survivors; all candidates survive where nothing is filtered
    confirmation: Accuracy | None = None
    pooled_standings: tuple[Standing, ...] = ()  #: of the last beam, on validation and confirmation rows together
    test: Accuracy | None = None
    test_correct: tuple[bool, ...] = ()
    baselines: Baselines = Baselines()
    rivals: RandomTally = RandomTally()  #: random-and-validation, as the rival or as the method itself
    verdict: Verdict | None = None
    order: Spread | None = None

    @property
    def confirmed(self) -> int:
        """Permutations judged on the confirmation rows."""
        return len(self.pooled_standings)


@dataclass(frozen=True)
class RunState:
    """The state between two steps of a run."""

    filtering: FilterState
    search: SearchState | None = None
    assessment: Assessment = field(default_factory=Assessment)
    spent: Cost = Cost()
    seconds: float = 0.0
    pairs_from_cache: int = 0

    def to_checkpoint(self, fingerprint: str, dtype: str, phase: Phase, step: int) -> Checkpoint:
        values = {
            "rounds_done": self.filtering.rounds_done,
            "search": _SearchRecord.of(self.search).model_dump(mode="json") if self.search else None,
            "assessment": self.assessment.model_dump(mode="json"),
            "spent": [self.spent.forwards, self.spent.tokens, self.seconds],
            "pairs_from_cache": self.pairs_from_cache,
        }
        arrays = {"survivors": self.filtering.survivors, "contributions": self.filtering.contributions}
        if self.search:
            arrays["beam_margins"] = self.search.margins
        return Checkpoint(fingerprint, phase, step, dtype, values, arrays)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> "RunState":
        values, arrays = checkpoint.values, checkpoint.arrays
        forwards, tokens, seconds = values["spent"]
        return cls(
            filtering=FilterState(values["rounds_done"], arrays["survivors"], arrays["contributions"]),
            search=_restore_search(checkpoint),
            assessment=Assessment.model_validate(values["assessment"]),
            spent=Cost(forwards, tokens),
            seconds=seconds,
            pairs_from_cache=values["pairs_from_cache"],
        )

    @classmethod
    def start(cls, num_candidates: int) -> "RunState":
        return cls(FilterState.start(num_candidates))


class _SearchRecord(Record):
    """A SearchState as JSON can hold it, without its array: keys of an object cannot be permutations."""

    iterations_done: int
    beam: tuple[Permutation, ...]
    standings: tuple[tuple[Permutation, Standing], ...]
    eliminated: tuple[tuple[Permutation, int], ...]
    charged_pairs: int

    @classmethod
    def of(cls, search: SearchState) -> "_SearchRecord":
        return cls(
            iterations_done=search.iterations_done,
            beam=search.beam,
            standings=tuple(search.standings.items()),
            eliminated=tuple(search.eliminated.items()),
            charged_pairs=search.charged_pairs,
        )


def _restore_search(checkpoint: Checkpoint) -> SearchState | None:
    if not checkpoint.values["search"]:
        return None
    record, margins = _SearchRecord.model_validate(checkpoint.values["search"]), checkpoint.arrays["beam_margins"]
    return SearchState(
        record.iterations_done,
        record.beam,
        dict(record.standings),
        margins,
        dict(record.eliminated),
        record.charged_pairs,
    )
