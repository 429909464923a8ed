"""The rungs of successive halving, known before the run (see judging/ranker)."""

from dataclasses import dataclass, replace


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
    """The rungs of `halvings` halvings; the last rung ends at row `num_rows`.

    Args:
        least: number of permutations (the places of the beam) at which the halving stops.

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
