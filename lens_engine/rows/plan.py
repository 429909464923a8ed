"""Arithmetic known before a run: rounds of filtering, rungs of halving."""

from dataclasses import dataclass, replace

import numpy as np

from lens_engine.config import FilteringOptions
from lens_engine.types import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung: `permutations` permutations are judged on the rows from `start` to `end` (exclusive) of an order."""

    permutations: int
    start: int
    end: int

    @property
    def pairs(self) -> int:
        return self.permutations * (self.end - self.start)


def plan_rungs(num_permutations: int, num_rows: int, halvings: int, least: int) -> list[Rung]:
    """The rungs of `halvings` halvings, down to `least` permutations; the last rung ends at row `num_rows`.

    Without halvings there is one rung: every permutation on every row.
    """
    rungs, start, left = list[Rung](), 0, num_permutations
    for halving in range(halvings + 1):
        end = -(-num_rows // 2 ** (halvings - halving))
        if end == start:  # with few rows, two rungs may end at the same row
            continue
        if rungs and rungs[-1].permutations == left:
            rungs[-1] = replace(rungs[-1], end=end)  # no permutation is left to drop
        else:
            rungs.append(Rung(left, start, end))
        start, left = end, max(-(-left // 2), min(left, least))
    return rungs


_LEAST_GROWTH = 2.0


@dataclass(frozen=True, slots=True)
class FilterRound:
    """One round: `candidates` candidates are scored on `score_size` score examples, and the best `keep` survive."""

    candidates: int
    score_size: int
    new_columns: int  #: score examples that are new in this round
    keep: int


def plan_rounds(num_candidates: int, options: FilteringOptions, max_score_size: int | None = None) -> list[FilterRound]:
    """The rounds for `num_candidates` candidates; at least one, because the search needs InfoScores.

    Each round divides the candidates by rho and multiplies the score set by rho, up to `max_score_size` (by
    default the option with that name). If rho is derived, the score set at least doubles in each round, so that a
    small upload also gets a score set that tells its candidates apart. If all candidates are kept, there is one
    round, on the score set that a last round would have.
    """
    limit = min(options.max_score_size, max_score_size or options.max_score_size)
    rho = options.rho or max((num_candidates / options.keep) ** (1 / options.rounds), 1.0)
    growth = options.rho or max(rho, _LEAST_GROWTH)
    size = float(options.initial_score_size)
    if rho == 1.0:
        size *= growth ** (options.rounds - 1)
    rounds, candidates, scored = list[FilterRound](), num_candidates, 0
    while True:
        score_size = min(round(size), limit)
        shrunk = min(round(candidates / rho), candidates - 1)  # a rho close to 1 must also terminate
        keep = max(shrunk, options.keep) if rho > 1 else options.keep
        is_used_up = options.rho is None and len(rounds) + 1 >= options.rounds  # rounding could add a round
        is_last = keep <= options.keep or is_used_up
        keep = min(options.keep if is_last else keep, candidates)
        rounds.append(FilterRound(candidates, score_size, score_size - scored, keep))
        if is_last:
            return rounds
        candidates, size, scored = keep, size * growth, score_size


def spread_evenly(groups: IndexArray) -> FloatArray:
    """Sort keys in [0, 1] that spread the rows of each group evenly  # [rows].

    In the order of these keys, every beginning has the groups in proportion.
    """
    places = np.empty(len(groups))
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        places[own] = (np.arange(len(own)) + 0.5) / len(own)
    return places
