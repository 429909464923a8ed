"""The rows of the pool: all that may be demonstrations of an input, or a sample of them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from lens_engine.randomness import make_generator
from lens_engine.retrieval.pool import MOST_POOL_ROWS, Pool
from lens_engine.rows.quotas import share_proportionally, take_quotas
from lens_engine.types import Example


class DrawnPool(NamedTuple):
    """A pool, and how many rows were left out of it."""

    pool: Pool
    left_out: int


def draw_pool(examples: Sequence[Example], seed: int, most: int = MOST_POOL_ROWS) -> DrawnPool:
    """The pool of these examples; of more than `most`, that of a random sample with the labels in proportion.

    The same examples and seed give the same pool, whatever the order of the examples is. Every label keeps a row if
    there are at most `most` labels.

    Args:
        examples: labelled rows, each once.
        most: largest number of rows.
    """
    if len(examples) <= most:
        return DrawnPool(Pool.of(examples), 0)
    ordered = sorted(examples, key=lambda example: example.row)
    quotas = share_proportionally(most, dict(sorted(Counter(example.label for example in ordered).items())))
    order = make_generator(seed, "pool").permutation(len(ordered))
    taken, left_out = take_quotas((ordered[place] for place in order), quotas, lambda example: example.label)
    return DrawnPool(Pool.of(taken), len(left_out))
