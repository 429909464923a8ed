"""Random permutations: draw members by quota, swap, shuffle."""

from collections.abc import Sequence

import numpy as np

from lens_engine.prompt.template import Task
from lens_engine.randomness import make_generator
from lens_engine.rows.quotas import Quotas
from lens_engine.types import Example, IndexArray, Permutation


def draw_permutation(groups: IndexArray, quotas: Sequence[int], rng: np.random.Generator) -> Permutation:
    """A permutation of `quotas[g]` members drawn uniformly from each group g, without replacement, in random order."""
    members = [
        rng.choice(np.flatnonzero(groups == group), size=quota, replace=False) for group, quota in enumerate(quotas)
    ]
    return shuffle(np.concatenate(members).tolist(), rng)


def draw_permutations(
    examples: Sequence[Example], task: Task, quotas: Quotas, seed: int, count: int
) -> list[Permutation]:
    """The first `count` random permutations; permutation i depends only on the seed and on i."""
    groups, members = quotas.group(task.index_labels(examples))
    return [draw_permutation(groups, members, make_generator(seed, "random", index)) for index in range(count)]


def keep_apart(ranked: Sequence[Permutation], number: int, most_shared: int) -> list[Permutation]:
    """The first permutations of `ranked` (best first) that share at most `most_shared` members, two by two.

    If they are fewer than `number`, those that share the fewest members with a permutation kept are added.
    """
    chosen = list[Permutation]()

    def count_shared(members: Permutation) -> int:
        return max((len({*members} & {*other}) for other in chosen), default=0)

    for members in ranked:
        if len(chosen) < number and count_shared(members) <= most_shared:
            chosen.append(members)
    while len(chosen) < min(number, len(ranked)):
        chosen.append(min((members for members in ranked if members not in chosen), key=count_shared))
    return chosen


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
