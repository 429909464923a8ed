"""Random permutations: draw members by quota, swap, shuffle."""

from collections.abc import Sequence

import numpy as np

from lens_engine.randomness import make_generator
from lens_engine.rows.quotas import Quotas
from lens_engine.task.template import Task
from lens_engine.types import Example, IndexArray, Permutation


def draw_permutation(groups: IndexArray, quotas: Sequence[int], rng: np.random.Generator) -> Permutation:
    """A permutation of `quotas[g]` members drawn uniformly from each group g, without replacement, in random order."""
    members = [
        rng.choice(np.flatnonzero(groups == group), size=quota, replace=False) for group, quota in enumerate(quotas)
    ]
    return shuffle(np.concatenate(members).tolist(), rng)


def draw_permutations(
    examples: Sequence[Example], task: Task, quotas: Quotas, seed: int, first: int, count: int
) -> list[Permutation]:
    """Random permutations `first` to `first + count` (exclusive); permutation i depends only on the seed and on i."""
    groups, members = quotas.group(task.index_labels(examples))
    return [
        draw_permutation(groups, members, make_generator(seed, "random", index))
        for index in range(first, first + count)
    ]


def keep_apart(ranked: Sequence[Permutation], most: int, most_shared: int, least: int = 0) -> list[Permutation]:
    """The first permutations of `ranked` that share at most `most_shared` members, two by two.

    Args:
        ranked: the best first.
        most: largest number of permutations.
        least: if fewer than this are found, those that share the fewest members with a permutation kept are added.
    """
    chosen = list[Permutation]()
    for members in ranked:
        if len(chosen) < most and _most_shared(members, chosen) <= most_shared:
            chosen.append(members)
    while len(chosen) < min(least, len(ranked)):
        left = [members for members in ranked if members not in chosen]
        chosen.append(min(left, key=lambda members: _most_shared(members, chosen)))
    return chosen


def _most_shared(members: Permutation, others: Sequence[Permutation]) -> int:
    return max((len(set(members) & set(other)) for other in others), default=0)


def swap(members: Sequence[int], rng: np.random.Generator) -> Permutation:
    """The same members with two random places exchanged; a single member is returned unchanged."""
    order = list(members)
    if len(order) > 1:
        one, other = (int(place) for place in rng.choice(len(order), size=2, replace=False))
        order[one], order[other] = order[other], order[one]
    return tuple(order)


def shuffle(members: Sequence[int], rng: np.random.Generator) -> Permutation:
    """The same members in random order."""
    return tuple(int(member) for member in rng.permutation(np.asarray(members)))
