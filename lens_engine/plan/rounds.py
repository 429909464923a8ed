"""The rounds of progressive filtering, known before the run (Algorithm 1)."""

from dataclasses import dataclass

from lens_engine.config import FilteringOptions

_LEAST_GROWTH = 2.0


@dataclass(frozen=True, slots=True)
class FilterRound:
    """One round: `candidates` are scored on `score_size` examples, `keep` of them go on."""

    candidates: int
    score_size: int
    new_columns: int  #: score examples that the survivors have not been scored on yet
    keep: int

    @property
    def pairs(self) -> int:
        """Forwards of the round: only new columns are computed, since the score set is nested."""
        return self.candidates * self.new_columns


def plan_rounds(num_candidates: int, options: FilteringOptions, max_score_size: int | None = None) -> list[FilterRound]:
    """The rounds for so many candidates; at least one, since the search needs InfoScores.

    The score set grows by rho each round, as the candidates shrink by it, up to `max_score_size`
    (by default the option of that name). Where rho is derived it at least doubles: a small upload whose
    candidates hardly shrink still gets a score set that tells them apart, and one that is kept whole
    gets the last round's at once.
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
        shrunk = min(round(candidates / rho), candidates - 1)  # a rho next to 1 must come to an end too
        keep = max(shrunk, options.keep) if rho > 1 else options.keep
        is_last = keep <= options.keep or _rounds_are_used_up(options, rounds)
        keep = min(options.keep if is_last else keep, candidates)
        rounds.append(FilterRound(candidates, score_size, score_size - scored, keep))
        if is_last:
            return rounds
        candidates, size, scored = keep, size * growth, score_size


def _rounds_are_used_up(options: FilteringOptions, rounds: list[FilterRound]) -> bool:
    """With rho derived from the number of rounds, rounding must not add one."""
    return options.rho is None and len(rounds) + 1 >= options.rounds
