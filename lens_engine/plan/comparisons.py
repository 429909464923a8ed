"""What a run compares its choice with, known before the run."""

from dataclasses import dataclass

from lens_engine.config import ComparisonsOption


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The comparisons of a run, and their sizes."""

    names: frozenset[str] = frozenset()  #: names of steps of the evaluation
    random_permutations: int = 10  #: number of permutations whose mean is the figure of `random`
    orders: int = 8  #: number of other orders of the support examples
    most_rows: int | None = None  #: maximum number of test rows for random permutations and orders; None for all


_USUAL = frozenset({"zero_shot", "zero_shot_head", "bag_of_words", "random", "random_and_validation"})
_OTHERS = frozenset({"random_ensemble", "random_prompts", "long_prompt", "order"})

COMPARISONS: dict[ComparisonsOption, Comparisons] = {
    "none": Comparisons(),
    "usual": Comparisons(_USUAL, most_rows=100),
    "all": Comparisons(_USUAL | _OTHERS),
}
