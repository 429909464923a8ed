"""The method LENS: filter the candidates, then search among permutations of the survivors.

Stage 1, filtering, scores each candidate as the only demonstration (its InfoScore: how much it helps on average), and
keeps the best, round by round. Stage 2, the search, judges first permutations of the examples that are left (the
survivors), keeps the best few (the beam), and then tries children of the beam: one example replaced, or two reordered.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lens_engine.errors import NothingSelected
from lens_engine.metering.cost import Cost
from lens_engine.metering.meter import Meter
from lens_engine.randomness import make_generator
from lens_engine.search.base import Findings, FirstStep, Method, PackedState
from lens_engine.search.judgement import EvaluationRows, Judgement
from lens_engine.search.lens.beam import Neighbourhood, SearchState, run_iteration, start_search
from lens_engine.search.lens.diversity import Affinity
from lens_engine.search.lens.filtering import Filter, FilterState
from lens_engine.search.objective import RankingObjective, make_objective
from lens_engine.search.ranker import Ranker
from lens_engine.search.score import Score, rank_key
from lens_engine.types import Permutation, Phase, StopReason


@dataclass(frozen=True)
class LensState:
    """State of the filtering and of the search."""

    filtering: FilterState
    search: SearchState | None = None  #: None before the first permutations are judged

    def to_candidates(self, permutation: Permutation) -> Permutation:
        """Translate a permutation of survivors into indices of the candidates."""
        return tuple(int(self.filtering.survivors[index]) for index in permutation)


class Lens(Method[LensState]):
    """Progressive filtering and diversity-guided search (Li & Qiu 2023, section 3)."""

    @property
    def num_finalists(self) -> int:
        return self.run.config.search.num_finalists

    @property
    def judges_finalists(self) -> bool:
        return True

    @property
    def is_search(self) -> bool:
        return True

    def price(self) -> dict[Phase, Cost]:
        return {Phase.FILTER: self.run.prices.filtering(), Phase.SEARCH: self.run.prices.searching()}

    def first_step(self) -> FirstStep:
        prices = self.run.prices
        if not prices.filter_rounds:
            return super().first_step()
        return FirstStep("the first round of filtering", prices.filtering_round(prices.filter_rounds[0]))

    def start(self) -> LensState:
        """Without filtering, the survivors are drawn at random."""
        state = FilterState.start(len(self.run.rows.candidates))
        if self.run.prices.filter_rounds:
            return LensState(state)
        rng = make_generator(self.run.config.seed, "survivors")
        return LensState(self._filtering.draw(state, self.run.config.filtering.keep, rng))

    def steps(self, state: LensState, meter: Meter) -> Iterator[LensState]:
        for filtering in self._filter(state.filtering, meter):
            state = LensState(filtering)
            yield state
        for search in self._search(state, meter):
            state = replace(state, search=search)
            yield state

    def choice(self, state: LensState) -> Permutation | None:
        return None if state.search is None else state.to_candidates(state.search.beam[0])

    def fallback(self, state: LensState, reason: StopReason) -> Permutation:
        """If the budget ended before any permutation was judged: the first one that the search would have judged.

        It has the highest sum of InfoScore and diversity that a local search (`diversity.exchange`) found.
        """
        has_survivors = bool(state.filtering.rounds_done) or not self.run.prices.filter_rounds
        if reason is StopReason.CANCELLED or not has_survivors:
            raise NothingSelected(reason)
        kept = LensState(self._filtering.cut(state.filtering, self.run.config.filtering.keep))
        return kept.to_candidates(self._draw_first(kept)[0])

    def findings(self, state: LensState) -> Findings:
        filtering, search = state.filtering, state.search
        known = filtering.scores_by_candidate if filtering.rounds_done else {}
        survivors = len(filtering.survivors) if filtering.rounds_done else None
        if search is None:
            message = "the run ended before the search: the examples are those that help most alone and differ most"
            return Findings(
                info_scores=known, gains=filtering.gains_by_candidate, survivors=survivors, warnings=(message,)
            )
        finalists = self._finalists(search)
        done, planned = search.iterations_done, self.run.config.search.iterations
        is_short = (f"the search ended after {done} of {planned} iterations",) if done < planned else ()
        return Findings(
            finalists=tuple(state.to_candidates(one) for one in finalists),
            log_probs=np.array([search.log_probs[one] for one in finalists]),
            info_scores=known,
            gains=filtering.gains_by_candidate,
            num_judged=search.num_judged,
            num_dropped=len(search.dropped),
            best_accuracy=search.scores[finalists[0]].accuracy,
            survivors=survivors,
            warnings=is_short,
        )

    def _finalists(self, search: SearchState) -> list[Permutation]:
        """The beam, then the best permutations for the other use, ranked anew by the known log-probabilities."""
        own = self.run.config.use
        other = next((use for use in self.run.uses if use != own), own)
        objective = make_objective(self.run.config, self._validation_rows, self.run.dtype, other)
        gold, judged = self._validation_rows.gold, list(search.log_probs)
        scores = objective.scores([Judgement(search.log_probs[one], gold) for one in judged], is_final=True)
        ranked = sorted(zip(judged, scores, strict=True), key=lambda pair: rank_key(*pair))
        best = [one for one, _ in ranked[: self.num_finalists - len(search.beam)]]
        return list(dict.fromkeys([*search.beam, *best]))

    def pack(self, state: LensState) -> PackedState:
        filtering, search = state.filtering, state.search
        arrays: dict[str, NDArray[Any]] = {"survivors": filtering.survivors, "contributions": filtering.contributions}
        record = None
        if search is not None:
            arrays["log_probs"] = np.array([search.log_probs[one] for one in search.scores])
            record = {
                "iterations_done": search.iterations_done,
                "beam": search.beam,
                "scores": [(one, asdict(score)) for one, score in search.scores.items()],
                "dropped": search.dropped,
            }
        return PackedState({"rounds_done": filtering.rounds_done, "search": record}, arrays)

    def unpack(self, packed: PackedState) -> LensState:
        values, arrays = packed.values, packed.arrays
        filtering = FilterState(values["rounds_done"], arrays["survivors"], arrays["contributions"])
        record = values["search"]
        if record is None:
            return LensState(filtering)
        scores = {tuple(one): Score(**score) for one, score in record["scores"]}
        search = SearchState(
            iterations_done=record["iterations_done"],
            beam=tuple(map(tuple, record["beam"])),
            scores=scores,
            dropped=tuple(map(tuple, record["dropped"])),
            log_probs=dict(zip(scores, arrays["log_probs"], strict=True)),
        )
        return LensState(filtering, search)

    def _filter(self, state: FilterState, meter: Meter) -> Iterator[FilterState]:
        rounds = self.run.prices.filter_rounds
        for number, plan in enumerate(rounds, start=1):
            if number > state.rounds_done:
                meter.enter(Phase.FILTER, number, len(rounds))
                state = self._filtering.run_round(state, plan, meter)
                yield state

    def _search(self, state: LensState, meter: Meter) -> Iterator[SearchState]:
        config, search = self.run.config, state.search
        neighbourhood = self._neighbourhood(state)
        halvings, places = config.search.halvings, config.search.beam_width
        judge = partial(self._ranker(state, meter).judge, halvings=halvings, places=places)
        if search is None:
            meter.enter(Phase.INITIALISE, 1, 1)
            search = start_search(self._draw_first(state), judge, config.search.beam_width)
            yield search
        for iteration in range(search.iterations_done, config.search.iterations):
            meter.enter(Phase.SEARCH, iteration + 1, config.search.iterations)
            search = run_iteration(search, neighbourhood, judge, make_generator(config.seed, "search", iteration))
            yield search

    def _draw_first(self, state: LensState) -> list[Permutation]:
        rng = make_generator(self.run.config.seed, "initialise")
        return self._neighbourhood(state).first_permutations(rng)

    @cached_property
    def _filtering(self) -> Filter:
        rows, config = self.run.rows, self.run.config
        return Filter(self.run.task, rows.candidates, rows.score_set, config.filtering, config.balanced)

    def _neighbourhood(self, state: LensState) -> Neighbourhood:
        filtering, config = state.filtering, self.run.config
        survivors = filtering.pick_survivors(self.run.rows.candidates)
        groups, quotas = self.run.rows.quotas.group(self.run.task.index_labels(survivors))
        weight = config.search.diversity_weight
        affinity = Affinity.from_features(filtering.info_scores, filtering.contributions, weight)
        takes_best = config.filtering.contribution == "vocabulary"
        return Neighbourhood(affinity, groups, quotas, config.search, takes_best)

    def _ranker(self, state: LensState, meter: Meter) -> Ranker:
        survivors = state.filtering.pick_survivors(self.run.rows.candidates)
        return Ranker(meter, survivors, self._validation_rows, self._objective)

    @cached_property
    def _validation_rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.validation)

    @cached_property
    def _objective(self) -> RankingObjective:
        return make_objective(self.run.config, self._validation_rows, self.run.dtype)
