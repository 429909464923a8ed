"""The method LENS: filter the candidates, then search among permutations of the survivors.

Stage 1, filtering, scores each candidate as the only demonstration (its InfoScore: how much it helps on average), and
keeps the best, round by round. Stage 2, the search, judges first permutations of the examples that are left (the
survivors), keeps the best few (the beam), and then tries children of the beam: one example replaced, or two reordered.
All of it is done on search rows, which judge no prompt afterwards.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

from numpy.typing import NDArray

from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.method.beam import Neighbourhood, SearchState, run_iteration, start_search
from lens_engine.method.diversity import Affinity
from lens_engine.method.filtering import Filter, FilterState
from lens_engine.method.judgement import EvaluationRows
from lens_engine.method.objective import Score, make_objective, rank_key
from lens_engine.method.ranker import Ranker
from lens_engine.method.setup import Findings, Setup
from lens_engine.randomness import make_generator
from lens_engine.rows.dealing import LensRows
from lens_engine.types import Permutation, Phase

MOST_FINALISTS, _OF_EACH_USE = 6, 2
"""Number of permutations that are judged beside other contenders, and of the best for each use among them."""

_LEAST_ROWS_FOR_BOTH = 100
"""Validation rows from which on permutations are ranked for both uses: fewer tell too little of label biases."""


@dataclass(frozen=True)
class LensState:
    """State of the filtering and of the search."""

    filtering: FilterState
    search: SearchState | None = None  #: None before the first permutations are judged

    def to_candidates(self, permutation: Permutation) -> Permutation:
        """Translate a permutation of survivors into indices of the candidates."""
        return tuple(int(self.filtering.survivors[index]) for index in permutation)

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON values and arrays, for a checkpoint."""
        filtering, search = self.filtering, self.search
        record = None
        if search is not None:
            record = {
                "iterations_done": search.iterations_done,
                "beam": search.beam,
                "scores": [
                    (one, asdict(own), list(map(asdict, search.by_use[one]))) for one, own in search.scores.items()
                ],
                "dropped": search.dropped,
            }
        arrays = {"survivors": filtering.survivors, "contributions": filtering.contributions}
        return {"rounds_done": filtering.rounds_done, "search": record}, arrays

    @classmethod
    def unpack(cls, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "LensState":
        """The state from which `pack` made these."""
        filtering = FilterState(values["rounds_done"], arrays["survivors"], arrays["contributions"])
        record = values["search"]
        if record is None:
            return LensState(filtering)
        search = SearchState(
            iterations_done=record["iterations_done"],
            beam=tuple(map(tuple, record["beam"])),
            scores={tuple(one): Score(**score) for one, score, _ in record["scores"]},
            dropped=tuple(map(tuple, record["dropped"])),
            by_use={tuple(one): tuple(Score(**each) for each in found) for one, _, found in record["scores"]},
        )
        return LensState(filtering, search)


class Lens:
    """Progressive filtering and diversity-guided search (Li & Qiu 2023, section 3).

    A permutation is a tuple of indices of `Setup.lens_rows.candidates`.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def price(self) -> dict[Phase, Cost]:
        """The most that each stage costs."""
        prices = self._setup.prices
        return {Phase.FILTER: prices.filtering(), Phase.SEARCH: prices.searching()}

    def start(self) -> LensState:
        """The state before the first step. Without filtering, the survivors are drawn at random."""
        state = FilterState.start(len(self._rows.candidates))
        if self._setup.prices.filter_rounds:
            return LensState(state)
        rng = make_generator(self._setup.config.seed, "survivors")
        return LensState(self._filtering.draw(state, self._setup.config.filtering.keep, rng))

    def steps(self, state: LensState, meter: Meter) -> Iterator[LensState]:
        """Continue from `state` and score with `meter`; yields the state after each step.

        Raises:
            Stopped: from the meter; the last state yielded stays valid.
        """
        for filtering in self._filter(state.filtering, meter):
            state = LensState(filtering)
            yield state
        for search in self._search(state, meter):
            state = replace(state, search=search)
            yield state

    def findings(self, state: LensState) -> Findings:
        """What was found by now. Before a permutation is judged: the one that would be the first, with the highest sum
        of InfoScore and diversity that a local search (`diversity.exchange`) finds."""
        filtering, search = state.filtering, state.search
        if not filtering.rounds_done and self._setup.prices.filter_rounds:
            return Findings()
        rows = [one.row for one in self._rows.candidates]
        scored = zip(filtering.survivors.tolist(), filtering.info_scores.tolist(), strict=True)
        scores = {rows[index]: score for index, score in scored}
        if search is None:
            kept = LensState(self._filtering.cut(filtering, self._setup.config.filtering.keep))
            finalists, is_short = self._draw_first(kept)[:1], True
            message = "the run ended before the search: its examples are those that help most alone and differ most"
        else:
            kept, finalists = state, self._finalists(search)
            done, planned = search.iterations_done, self._setup.config.search.iterations
            is_short, message = done < planned, f"the search ended after {done} of {planned} iterations"
        return Findings(
            finalists=tuple(kept.to_candidates(one) for one in finalists),
            info_scores=scores if filtering.rounds_done else {},
            gains={rows[index]: gains for index, gains in filtering.gains_by_candidate.items()},
            num_judged=0 if search is None else search.num_judged,
            warnings=(message,) if is_short else (),
        )

    @staticmethod
    def _finalists(search: SearchState) -> list[Permutation]:
        """The best permutations for each use, that of the run first, then those of the beam."""
        found, best = search.by_use, list[Permutation]()
        for place in range(len(found[search.beam[0]]) if search.beam else 0):
            best += sorted(found, key=lambda one: rank_key(one, found[one][place]))[:_OF_EACH_USE]
        return list(dict.fromkeys([*best, *search.beam]))[:MOST_FINALISTS]

    def _filter(self, state: FilterState, meter: Meter) -> Iterator[FilterState]:
        rounds = self._setup.prices.filter_rounds
        for number, plan in enumerate(rounds, start=1):
            if number > state.rounds_done:
                meter.enter(Phase.FILTER, number, len(rounds))
                state = self._filtering.run_round(state, plan, meter)
                yield state

    def _search(self, state: LensState, meter: Meter) -> Iterator[SearchState]:
        config, search = self._setup.config, state.search
        neighbourhood = self._neighbourhood(state)
        steps, halvings, places = config.search.iterations + 1, config.search.halvings, config.search.beam_width
        judge = partial(self._ranker(state, meter).judge, halvings=halvings, places=places)
        if search is None:
            meter.enter(Phase.SEARCH, 1, steps)
            search = start_search(self._draw_first(state), judge, config.search.beam_width)
            yield search
        for iteration in range(search.iterations_done, config.search.iterations):
            meter.enter(Phase.SEARCH, iteration + 2, steps)
            search = run_iteration(search, neighbourhood, judge, make_generator(config.seed, "search", iteration))
            yield search

    def _draw_first(self, state: LensState) -> list[Permutation]:
        rng = make_generator(self._setup.config.seed, "initialise")
        return self._neighbourhood(state).first_permutations(rng)

    @cached_property
    def _filtering(self) -> Filter:
        rows, config = self._rows, self._setup.config
        return Filter(self._setup.task, rows.candidates, rows.score_set, config.filtering, config.balanced)

    def _neighbourhood(self, state: LensState) -> Neighbourhood:
        filtering, config = state.filtering, self._setup.config
        survivors = filtering.pick_survivors(self._rows.candidates)
        groups, quotas = self._setup.rows.quotas.group(self._setup.task.index_labels(survivors))
        weight = config.search.diversity_weight
        affinity = Affinity.from_features(filtering.info_scores, filtering.features, weight)
        takes_best = config.filtering.contribution == "vocabulary"
        return Neighbourhood(affinity, groups, quotas, config.search, takes_best)

    def _ranker(self, state: LensState, meter: Meter) -> Ranker:
        setup, survivors = self._setup, state.filtering.pick_survivors(self._rows.candidates)
        rows = EvaluationRows(setup.task, self._rows.validation)
        objectives = [make_objective(setup.config, rows, use) for use in setup.uses]
        is_for_both = len(rows) >= _LEAST_ROWS_FOR_BOTH and not setup.config.search.starts_narrow
        return Ranker(meter, survivors, rows, objectives, len(objectives) if is_for_both else 1)

    @property
    def _rows(self) -> LensRows:
        return self._setup.lens_rows
