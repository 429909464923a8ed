"""Random, and random-and-validation: what one would do without LENS (section 4.1).

Random draws label-balanced permutations from the whole pool. Random-and-validation draws many, judges
each on the validation rows, and keeps the best: at equal budget, the rival that matters.
"""

from dataclasses import dataclass

from lens_engine.config import SelectionConfig
from lens_engine.methods.permutations import draw_permutation, group_by_label
from lens_engine.randomness import make_generator
from lens_engine.rows.splits import SplitRows
from lens_engine.task.template import Task
from lens_engine.types import Permutation


@dataclass(frozen=True)
class RandomPermutations:
    """Random permutations of a problem's candidates; the i-th is the same for the same seed."""

    rows: SplitRows
    task: Task
    config: SelectionConfig

    def draw(self, first: int, count: int) -> list[Permutation]:
        """Permutations `first` to `first + count`, as indices into the candidates."""
        groups, quotas = group_by_label(self.rows.candidates, self.task, self.config)
        return [
            draw_permutation(groups, quotas, make_generator(self.config.seed, "random", index))
            for index in range(first, first + count)
        ]
