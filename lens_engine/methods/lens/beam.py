"""Stage 2: diversity-guided search over permutations (section 3.2, Algorithm 2).

A permutation here is a tuple of indices into the survivors of filtering. The beam's parents stay in the pool of each
iteration (elitism; the paper's Algorithm 2 drops them). No permutation is judged twice, in whole or in part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.special import softmax

from lens_engine.config import Reordering, SearchOptions
from lens_engine.judging.outcome import Finished, Outcome
from lens_engine.judging.race import Incumbents
from lens_engine.judging.score import Score, rank_key
from lens_engine.methods.lens.diversity import Affinity, exchange
from lens_engine.methods.permutations import draw_permutation, shuffle, swap
from lens_engine.types import FloatArray, IndexArray, Permutation

Judge = Callable[[Sequence[Permutation], Incumbents, int], list[Outcome]]
"""As `Ranker.race`: permutations, the incumbents they have to beat (at first none), and how many places there are."""

_REORDERINGS: dict[Reordering, Callable[[Sequence[int], np.random.Generator], Permutation]] = {
    "swap": swap,
    "shuffle": shuffle,
}

_DRAWS = 20
"""Tries to find a child that is new; after them the beam's neighbourhood counts as exhausted."""

_STARTS = 64
"""Random starts of the exchange that makes the first permutations."""

_SHORTLIST = 16
"""A substitution draws from this many of the best replacements."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """The beam, best first, and what is known of every permutation judged."""

    iterations_done: int
    beam: tuple[Permutation, ...]
    scores: dict[Permutation, Score]  #: of those judged on every row
    margins: FloatArray = field(compare=False)  #: `[beam, rows]`, nats; says which rows are hard
    dropped: dict[Permutation, int] = field(default_factory=dict)  #: of the others, the most rows they have right
    charged_pairs: int = 0  #: (permutation, row) pairs that the rival at equal budget gets too

    @property
    def best(self) -> Permutation:
        return self.beam[0]

    @property
    def num_judged(self) -> int:
        """Permutations judged, in whole or in part."""
        return len(self.scores) + len(self.dropped)

    @property
    def incumbents(self) -> Incumbents:
        """The beam as its children have to beat it."""
        return Incumbents(tuple(self.scores[permutation].correct for permutation in self.beam), self.margins)


@dataclass(frozen=True)
class Neighbourhood:
    """Draws first permutations and children."""

    affinity: Affinity
    groups: IndexArray  #: `[m]` label of each survivor; all zero when balance is off
    quotas: tuple[int, ...]  #: members of each group in a permutation
    options: SearchOptions

    def first_permutations(self, rng: np.random.Generator) -> list[Permutation]:
        """Permutations of high affinity, kept apart (at most half of the members shared), then random ones.

        Where so many apart do not exist, those that share least come in, and then more random ones, if there are any.
        """
        number = self.options.num_first_permutations
        num_random = round(number * self.options.random_starts)
        optima = {tuple(sorted(self._random_optimum(rng, start))) for start in range(_STARTS)}
        ranked = sorted(optima, key=lambda members: (-self.affinity.objective(members), members))
        chosen = _keep_apart(ranked, number - num_random, most_shared=sum(self.quotas) // 2)
        first = [shuffle(members, rng) for members in chosen]
        missing = number - len(first) if num_random else 0
        return first + self._random_permutations(missing, set(first), rng)

    def children(
        self, parents: Sequence[Permutation], known: set[Permutation], rng: np.random.Generator
    ) -> list[Permutation]:
        """Substitutions and reorderings of each parent that are in neither `known` nor each other."""
        seen, children = set(known), list[Permutation]()
        reorder = _REORDERINGS[self.options.reorder_by]
        for parent in parents:
            moves = [self._substitute] * self.options.substitutions + [reorder] * self.options.reorderings
            for move in moves:
                child = _first_new(partial(move, parent, rng), seen)
                if child is not None:
                    seen.add(child)
                    children.append(child)
        return children

    def _random_permutations(self, number: int, known: set[Permutation], rng: np.random.Generator) -> list[Permutation]:
        """Label-balanced draws from the survivors that are in neither `known` nor each other, as many as are found."""
        seen, drawn = set(known), list[Permutation]()
        for _ in range(number):
            permutation = _first_new(partial(draw_permutation, self.groups, self.quotas, rng), seen)
            if permutation is not None:
                seen.add(permutation)
                drawn.append(permutation)
        return drawn

    def _random_optimum(self, rng: np.random.Generator, start: int) -> list[int]:
        """Exchange from a random start; after the first third, among a random half of the survivors,
        since from all of them most starts end in the same few optima."""
        members = draw_permutation(self.groups, self.quotas, rng)
        allowed = np.arange(len(self.groups))
        if start > _STARTS // 3:
            allowed = np.flatnonzero(rng.random(len(self.groups)) < 0.5)
        return exchange(self.affinity, members, self.groups, allowed)

    def _substitute(self, parent: Permutation, rng: np.random.Generator) -> Permutation:
        """Replace a random member by one of its group that fits the rest, drawn from the best few."""
        place = int(rng.integers(len(parent)))
        rest = parent[:place] + parent[place + 1 :]
        eligible = np.flatnonzero(self.groups == self.groups[parent[place]])
        eligible = eligible[~np.isin(eligible, parent)]
        if not len(eligible):
            return parent
        replacement = self._draw_fitting(eligible, self.affinity.fit(rest), rng)
        return (*parent[:place], replacement, *parent[place + 1 :])

    def _draw_fitting(self, eligible: IndexArray, fit: FloatArray, rng: np.random.Generator) -> int:
        best = eligible[np.lexsort((eligible, -fit[eligible]))][:_SHORTLIST]
        if self.options.temperature == 0.0:
            return int(best[0])
        return int(rng.choice(best, p=softmax(fit[best] / self.options.temperature)))


def start_search(first: Sequence[Permutation], judge: Judge, beam_width: int) -> SearchState:
    """Judge the first permutations; the best of them are the first beam."""
    outcomes = judge(first, Incumbents(), beam_width)
    nothing = SearchState(0, (), {}, np.empty((0, 0)))
    return _advance(nothing, dict(zip(first, outcomes, strict=True)), beam_width, iterations_done=0)


def run_iteration(
    state: SearchState, neighbourhood: Neighbourhood, judge: Judge, rng: np.random.Generator
) -> SearchState:
    """One iteration of Algorithm 2: children of the beam, and the best B of both.

    Raises:
        Stopped: from `judge`; the old state holds.
    """
    beam_width = neighbourhood.options.beam_width
    children = neighbourhood.children(state.beam, {*state.scores, *state.dropped}, rng)
    outcomes = judge(children, state.incumbents, beam_width)
    found = dict(zip(children, outcomes, strict=True))
    return _advance(state, found, beam_width, iterations_done=state.iterations_done + 1)


def _advance(
    state: SearchState, found: dict[Permutation, Outcome], beam_width: int, iterations_done: int
) -> SearchState:
    """The state with new outcomes, and the best of the old beam and them as its beam."""
    scores, dropped = dict(state.scores), dict(state.dropped)
    margins = dict(zip(state.beam, state.margins, strict=True))
    for permutation, outcome in found.items():
        if isinstance(outcome, Finished):
            scores[permutation], margins[permutation] = outcome.score, outcome.judgement.margins
        else:
            dropped[permutation] = outcome.most_correct
    beam = _best(scores, list(margins), beam_width)
    charged = state.charged_pairs + sum(outcome.charged_rows for outcome in found.values())
    return SearchState(iterations_done, beam, scores, np.array([margins[one] for one in beam]), dropped, charged)


def _best(scores: dict[Permutation, Score], pool: Sequence[Permutation], beam_width: int) -> tuple[Permutation, ...]:
    ranked = sorted(pool, key=lambda permutation: rank_key(permutation, scores[permutation]))
    return tuple(ranked[:beam_width])


def _first_new(draw: Callable[[], Permutation], seen: set[Permutation]) -> Permutation | None:
    for _ in range(_DRAWS):
        child = draw()
        if child not in seen:
            return child
    return None


def _keep_apart(ranked: Sequence[Permutation], width: int, most_shared: int) -> list[Permutation]:
    chosen = list[Permutation]()
    for members in ranked:
        if len(chosen) < width and all(len(set(members) & set(other)) <= most_shared for other in chosen):
            chosen.append(members)
    while len(chosen) < min(width, len(ranked)):
        left = [members for members in ranked if members not in chosen]
        chosen.append(min(left, key=lambda members: max(len(set(members) & set(other)) for other in chosen)))
    return chosen
