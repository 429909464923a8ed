"""Random permutations: draw members by quota, swap, shuffle."""

from collections.abc import Sequence

import numpy as np

from lens_engine.prompt.template import Task
from lens_engine.randomness import make_generator
from lens_engine.rows.quotas import Quotas
from lens_engine.types import Example, IndexArray, Permutation

_NEVER = np.iinfo(np.intp).max


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
    """The first permutations of `ranked` (best first) that share at most `most_shared` members, two by two.

    If fewer than `least` are found, those that share the fewest members with a permutation kept are added.
    """
    chosen = list[Permutation]()
    if most > 0:
        for members in ranked:
            own = set(members)
            if all(len(own.intersection(other)) <= most_shared for other in chosen):
                chosen.append(members)
                if len(chosen) == most:
                    break
    lacking = min(least, len(ranked)) - len(chosen)
    return chosen + _share_fewest(ranked, chosen, lacking) if lacking > 0 else chosen


def _share_fewest(ranked: Sequence[Permutation], chosen: Sequence[Permutation], number: int) -> list[Permutation]:
    """The next permutations of `ranked`: each shares the fewest members with one that was chosen before it."""
    taken = set(chosen)
    left = [(set(members), members) for members in ranked if members not in taken]
    shared = np.array([max((len(own.intersection(one)) for one in chosen), default=0) for own, _ in left])
    added = list[Permutation]()
    for _ in range(number):
        newest = left[int(shared.argmin())][1]
        added.append(newest)
        for place, (own, members) in enumerate(left):
            shared[place] = _NEVER if members == newest else max(shared[place], len(own.intersection(newest)))
    return added


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
