"""The rungs of successive halving, known before the run (see judging/halving)."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Rung:
    """So many permutations are judged on the rows from `start` to `end` of an order."""

    permutations: int
    start: int
    end: int

    @property
    def pairs(self) -> int:
        return self.permutations * (self.end - self.start)


def plan_rungs(num_permutations: int, num_rows: int, halvings: int, least: int) -> list[Rung]:
    """The rungs, the last of them up to the last row.

    Args:
        least: permutations that are never halved away: the places of the beam.

    With no halvings there is one rung: everything on every row.
    """
    rungs, start, left = list[Rung](), 0, num_permutations
    for halving in range(halvings + 1):
        end = -(-num_rows // 2 ** (halvings - halving))
        if end == start:  # of few rows, halves may be equal
            continue
        if rungs and rungs[-1].permutations == left:
            rungs[-1] = replace(rungs[-1], end=end)  # nobody is left to drop
        else:
            rungs.append(Rung(left, start, end))
        start, left = end, max(-(-left // 2), min(left, least))
    return rungs
