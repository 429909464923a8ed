"""The rounds of progressive filtering, known before the run (Algorithm 1)."""

from dataclasses import dataclass

from lens_engine.config import FilteringOptions

_LEAST_GROWTH = 2.0


@dataclass(frozen=True, slots=True)
class FilterRound:
    """One round: `candidates` candidates are scored on `score_size` score examples, and the best `keep` survive."""

    candidates: int
    score_size: int
    new_columns: int  #: score examples that are new in this round
    keep: int

    @property
    def pairs(self) -> int:
        """Pairs of the round. Only new columns are computed, because each score set begins with the one before."""
        return self.candidates * self.new_columns


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
        is_last = keep <= options.keep or _rounds_are_used_up(options, rounds)
        keep = min(options.keep if is_last else keep, candidates)
        rounds.append(FilterRound(candidates, score_size, score_size - scored, keep))
        if is_last:
            return rounds
        candidates, size, scored = keep, size * growth, score_size


def _rounds_are_used_up(options: FilteringOptions, rounds: list[FilterRound]) -> bool:
    """Whether a derived rho has used all `options.rounds`; without this check rounding could add a round."""
    return options.rho is None and len(rounds) + 1 >= options.rounds
