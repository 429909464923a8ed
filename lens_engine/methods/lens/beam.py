"""Stage 2: diversity-guided search over permutations (section 3.2, Algorithm 2).

A permutation here is a tuple of indices into the survivors of filtering; the pipeline turns them into
rows. The beam's parents stay in the pool of each iteration (elitism; the paper's Algorithm 2 drops
them), and a permutation is never evaluated twice, in whole or in part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from scipy.special import softmax

from lens_engine.config import Reordering, SearchOptions
from lens_engine.judging.race import Incumbents
from lens_engine.judging.ranker import Placing
from lens_engine.judging.score import Standing, rank_key
from lens_engine.methods.lens.diversity import Affinity, exchange
from lens_engine.methods.permutations import draw_permutation, shuffle, swap
from lens_engine.types import FloatArray, IndexArray, Permutation

Evaluate = Callable[[Sequence[Permutation], Incumbents, int], list[Placing]]
"""As `Ranker.place`: permutations, the incumbents they have to beat (at first none), and how many places there are."""

_REORDERINGS: dict[Reordering, Callable[[Sequence[int], np.random.Generator], Permutation]] = {
    "swap": swap,
    "shuffle": shuffle,
}

_DRAWS = 20
"""Tries to find a child that is new; after them the beam's neighbourhood counts as exhausted."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """The beam, best first, and what is known of every permutation evaluated."""

    iterations_done: int
    beam: tuple[Permutation, ...]
    standings: dict[Permutation, Standing]  #: of those judged on every row
    margins: FloatArray = field(compare=False)  #: `[beam, rows]`, nats; says which rows are hard
    eliminated: dict[Permutation, int] = field(default_factory=dict)  #: of the others, the most rows they have right
    charged_pairs: int = 0  #: (permutation, row) pairs that the rival at equal budget gets too

    @property
    def best(self) -> Permutation:
        return self.beam[0]

    @property
    def num_evaluated(self) -> int:
        """Permutations judged, in whole or in part."""
        return len(self.standings) + len(self.eliminated)

    @property
    def incumbents(self) -> Incumbents:
        """The beam as its children have to beat it."""
        return Incumbents(tuple(self.standings[permutation].correct for permutation in self.beam), self.margins)


@dataclass(frozen=True)
class Neighbourhood:
    """Draws first permutations and children."""

    affinity: Affinity
    groups: IndexArray  #: `[m]` label of each survivor; all zero when balance is off
    quotas: tuple[int, ...]  #: members of each group in a permutation
    options: SearchOptions

    def initial_permutations(self, rng: np.random.Generator) -> list[Permutation]:
        """Permutations of high affinity, kept apart (at most half of the members shared), then random ones.

        Where so many apart do not exist, those that share least come in, and then more random ones, if there are any.
        """
        number = self.options.num_first_permutations
        num_random = round(number * self.options.random_starts)
        optima = {tuple(sorted(self._random_optimum(rng, start))) for start in range(self.options.initial_starts)}
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
        if start > self.options.initial_starts // 3:
            allowed = np.flatnonzero(rng.random(len(self.groups)) < 0.5)
        return exchange(self.affinity, members, self.groups, allowed)

    def _substitute(self, parent: Permutation, rng: np.random.Generator) -> Permutation:
        """Replace a random member by one of its group that fits the rest, drawn from the best few, or by any."""
        place = int(rng.integers(len(parent)))
        rest = parent[:place] + parent[place + 1 :]
        eligible = np.flatnonzero(self.groups == self.groups[parent[place]])
        eligible = eligible[~np.isin(eligible, parent)]
        if not len(eligible):
            return parent
        share = self.options.random_substitutions
        if share and rng.random() < share:
            replacement = int(rng.choice(eligible))
        else:
            replacement = self._draw_fitting(eligible, self.affinity.fit(rest), rng)
        return (*parent[:place], replacement, *parent[place + 1 :])

    def _draw_fitting(self, eligible: IndexArray, fit: FloatArray, rng: np.random.Generator) -> int:
        best = eligible[np.lexsort((eligible, -fit[eligible]))][: self.options.shortlist]
        if self.options.temperature == 0.0:
            return int(best[0])
        return int(rng.choice(best, p=softmax(fit[best] / self.options.temperature)))


def start_search(initial: Sequence[Permutation], evaluate: Evaluate, beam_width: int) -> SearchState:
    """Evaluate the initial permutations; the best of them are the first beam."""
    placings = evaluate(initial, Incumbents(), beam_width)
    nothing = SearchState(0, (), {}, np.empty((0, 0)))
    return _advance(nothing, dict(zip(initial, placings, strict=True)), beam_width, iterations_done=0)


def run_iteration(
    state: SearchState, neighbourhood: Neighbourhood, evaluate: Evaluate, rng: np.random.Generator
) -> SearchState:
    """One iteration of Algorithm 2: children of the beam, and the best B of both.

    Raises:
        Stopped: from `evaluate`; the old state holds.
    """
    beam_width = neighbourhood.options.beam_width
    children = neighbourhood.children(state.beam, {*state.standings, *state.eliminated}, rng)
    placings = evaluate(children, state.incumbents, beam_width)
    found = dict(zip(children, placings, strict=True))
    return _advance(state, found, beam_width, iterations_done=state.iterations_done + 1)


def _advance(
    state: SearchState, found: dict[Permutation, Placing], beam_width: int, iterations_done: int
) -> SearchState:
    """The state with new placings, and the best of the old beam and them as its beam."""
    standings, eliminated = dict(state.standings), dict(state.eliminated)
    margins = dict(zip(state.beam, state.margins, strict=True))
    for permutation, placing in found.items():
        if placing.standing is None:
            eliminated[permutation] = placing.most_correct
        else:
            standings[permutation], margins[permutation] = placing.standing, placing.margins
    beam = _best(standings, list(margins), beam_width)
    charged = state.charged_pairs + sum(placing.charged_rows for placing in found.values())
    return SearchState(iterations_done, beam, standings, np.array([margins[one] for one in beam]), eliminated, charged)


def _best(
    standings: dict[Permutation, Standing], pool: Sequence[Permutation], beam_width: int
) -> tuple[Permutation, ...]:
    ranked = sorted(pool, key=lambda permutation: rank_key(permutation, standings[permutation]))
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
