"""Random permutations: draw members by quota, swap, shuffle."""

from collections.abc import Sequence

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.randomness import make_generator
from lens_engine.rows.quotas import demonstration_quotas
from lens_engine.task.template import Task
from lens_engine.types import Example, IndexArray, Permutation


def group_by_label(
    examples: Sequence[Example], task: Task, config: SelectionConfig
) -> tuple[IndexArray, tuple[int, ...]]:
    """The group of each example `[examples]`, and the number of members that a permutation takes from each group.

    In a label-balanced selection each label is a group. Otherwise all examples are one group.
    """
    quotas = demonstration_quotas(config, dict.fromkeys(task.labels, len(examples)))
    if quotas is None:
        return np.zeros(len(examples), dtype=np.intp), (config.num_demonstrations,)
    groups = task.index_labels(examples)
    return groups, tuple(quotas[label] for label in task.labels)


def draw_permutation(groups: IndexArray, quotas: Sequence[int], rng: np.random.Generator) -> Permutation:
    """A permutation of `quotas[g]` members drawn uniformly from each group g, without replacement, in random order."""
    members = [
        rng.choice(np.flatnonzero(groups == group), size=quota, replace=False) for group, quota in enumerate(quotas)
    ]
    return shuffle(np.concatenate(members).tolist(), rng)


def draw_permutations(
    examples: Sequence[Example], task: Task, config: SelectionConfig, first: int, count: int
) -> list[Permutation]:
    """Random permutations `first` to `first + count` (exclusive); permutation i depends only on the seed and on i."""
    groups, quotas = group_by_label(examples, task, config)
    return [
        draw_permutation(groups, quotas, make_generator(config.seed, "random", index))
        for index in range(first, first + count)
    ]


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
