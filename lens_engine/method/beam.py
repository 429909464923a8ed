"""Stage 2: diversity-guided search over permutations (Li & Qiu 2023, section 3.2, Algorithm 2).

Here a permutation is a tuple of indices into the survivors of filtering. Parents compete with their children for the
next beam (elitism; the paper's Algorithm 2 drops the parents). No permutation is judged twice, not even in part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from lens_engine.config import SearchOptions
from lens_engine.method.diversity import Affinity, exchange
from lens_engine.method.objective import Score, rank_key
from lens_engine.method.permutations import draw_permutation, keep_apart, shuffle, swap
from lens_engine.method.ranker import Finished, Outcome
from lens_engine.types import FloatArray, IndexArray, Permutation

Judge = Callable[[Sequence[Permutation]], list[Outcome]]
"""Judges permutations on the validation rows."""

_DRAWS = 20
"""Tries to find a new child; after that many failures the beam's neighbourhood counts as exhausted."""

_RANDOM_SHARE = 0.5
"""Share of the first permutations of a wide start that are drawn at random."""

_STARTS = 64
"""Number of random starts of the exchange that makes the first permutations."""

_SHORTLIST = 16
"""Number of best replacements from which a substitution draws."""

_TEMPERATURE = 0.3
"""Temperature of the softmax that draws a replacement (in units of s)."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """The beam, best first, and the result of every permutation judged."""

    iterations_done: int
    beam: tuple[Permutation, ...]
    scores: dict[Permutation, Score]  #: of the permutations judged on every row
    dropped: tuple[Permutation, ...] = ()  #: judged on some rows
    by_use: dict[Permutation, tuple[Score, ...]] = field(default_factory=dict)  #: of the same, for each use

    @property
    def num_judged(self) -> int:
        """Number of permutations judged on all or some rows."""
        return len(self.scores) + len(self.dropped)


@dataclass(frozen=True)
class Neighbourhood:
    """Draws first permutations and children."""

    affinity: Affinity
    groups: IndexArray  #: `[m]` label of each survivor; all zero when balance is off
    quotas: tuple[int, ...]  #: number of members of each group in a permutation
    options: SearchOptions
    takes_best: bool = False  #: whether a substitution takes the best replacement instead of drawing one

    def first_permutations(self, rng: np.random.Generator) -> list[Permutation]:
        """First permutations: some of high affinity that share at most half of their members, then random ones.

        If there are too few such permutations of high affinity, those that share the fewest members are added, then
        more random ones.
        """
        number = self.options.num_first_permutations
        num_random = 0 if self.options.starts_narrow else round(number * _RANDOM_SHARE)
        optima = {tuple(sorted(self._random_optimum(rng, start))) for start in range(_STARTS)}
        ranked = sorted(optima, key=lambda members: (-self.affinity.objective(members), members))
        width = number - num_random
        chosen = keep_apart(ranked, width, most_shared=sum(self.quotas) // 2)
        first = [shuffle(members, rng) for members in chosen]
        missing = number - len(first) if num_random else 0
        return first + self._random_permutations(missing, set(first), rng)

    def children(
        self, parents: Sequence[Permutation], known: set[Permutation], rng: np.random.Generator
    ) -> list[Permutation]:
        """Substitutions and reorderings of each parent; all are distinct and not in `known`.

        A search that starts narrow reorders as the paper does, by shuffling. In another order a good permutation loses
        half of its lead or more; with two members swapped it loses less.
        """
        seen, children = set(known), list[Permutation]()
        reorder = shuffle if self.options.starts_narrow else swap
        substitutions = self.options.num_substitutions
        moves = [self._substitute] * substitutions + [reorder] * (self.options.children - substitutions)
        for parent in parents:
            for move in moves:
                child = _first_new(partial(move, parent, rng), seen)
                if child is not None:
                    seen.add(child)
                    children.append(child)
        return children

    def _random_permutations(self, number: int, known: set[Permutation], rng: np.random.Generator) -> list[Permutation]:
        """Up to `number` random permutations of the survivors that fill the quotas; distinct and not in `known`."""
        seen, drawn = set(known), list[Permutation]()
        for _ in range(number):
            permutation = _first_new(partial(draw_permutation, self.groups, self.quotas, rng), seen)
            if permutation is not None:
                seen.add(permutation)
                drawn.append(permutation)
        return drawn

    def _random_optimum(self, rng: np.random.Generator, start: int) -> list[int]:
        """A local optimum of the exchange from a random start.

        After the first third of the starts, only a random half of the survivors is allowed: with all survivors most
        starts end in the same few optima.
        """
        members = draw_permutation(self.groups, self.quotas, rng)
        allowed = np.arange(len(self.groups))
        if start > _STARTS // 3:
            allowed = np.flatnonzero(rng.random(len(self.groups)) < 0.5)
        return exchange(self.affinity, members, self.groups, allowed)

    def _substitute(self, parent: Permutation, rng: np.random.Generator) -> Permutation:
        """Replace a random member by a survivor of its group, drawn from the few that fit the other members best."""
        place = int(rng.integers(len(parent)))
        rest = parent[:place] + parent[place + 1 :]
        eligible = np.flatnonzero(self.groups == self.groups[parent[place]])
        eligible = eligible[~np.isin(eligible, parent)]
        if not len(eligible):
            return parent
        replacement = self._draw_fitting(eligible, self.affinity.fit(rest), rng)
        return (*parent[:place], replacement, *parent[place + 1 :])

    def _draw_fitting(self, eligible: IndexArray, fit: FloatArray, rng: np.random.Generator) -> int:
        from scipy.special import softmax  # slow to import

        best = eligible[np.lexsort((eligible, -fit[eligible]))][:_SHORTLIST]
        if not np.ptp(fit[eligible]):  # nothing is known of the survivors
            return int(rng.choice(eligible))
        if self.takes_best:
            return int(best[0])
        return int(rng.choice(best, p=softmax(fit[best] / _TEMPERATURE)))


def start_search(first: Sequence[Permutation], judge: Judge, beam_width: int) -> SearchState:
    """Judge the first permutations; the best are the first beam."""
    outcomes = judge(first)
    nothing = SearchState(0, (), {})
    return _advance(nothing, dict(zip(first, outcomes, strict=True)), beam_width, iterations_done=0)


def run_iteration(
    state: SearchState, neighbourhood: Neighbourhood, judge: Judge, rng: np.random.Generator
) -> SearchState:
    """One iteration of Algorithm 2: judge children of the beam, and keep the best B of beam and children."""
    beam_width = neighbourhood.options.beam_width
    children = neighbourhood.children(state.beam, {*state.scores, *state.dropped}, rng)
    outcomes = judge(children)
    found = dict(zip(children, outcomes, strict=True))
    return _advance(state, found, beam_width, iterations_done=state.iterations_done + 1)


def _advance(
    state: SearchState, found: dict[Permutation, Outcome], beam_width: int, iterations_done: int
) -> SearchState:
    """The state with the new outcomes; its beam is the best of the old beam and the new permutations."""
    scores, dropped, by_use = dict(state.scores), list(state.dropped), dict(state.by_use)
    permutations = list(state.beam)
    for permutation, outcome in found.items():
        if isinstance(outcome, Finished):
            scores[permutation] = outcome.score
            permutations.append(permutation)
            by_use[permutation] = outcome.by_use
        else:
            dropped.append(permutation)
    permutations.sort(key=lambda permutation: rank_key(permutation, scores[permutation]))
    beam = tuple(permutations[:beam_width])
    return SearchState(iterations_done, beam, scores, tuple(dropped), by_use)


def _first_new(draw: Callable[[], Permutation], seen: set[Permutation]) -> Permutation | None:
    for _ in range(_DRAWS):
        child = draw()
        if child not in seen:
            return child
    return None
