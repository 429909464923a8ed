"""Drawing permutations: members by quota, in random order."""

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
    """The group of each example `[examples]`, and how many members of each group a permutation has.

    Label-balanced: a group for each label. Otherwise all examples are one group.
    """
    quotas = demonstration_quotas(config, dict.fromkeys(task.labels, len(examples)))
    if quotas is None:
        return np.zeros(len(examples), dtype=np.intp), (config.num_demonstrations,)
    groups = task.index_labels(examples)
    return groups, tuple(quotas[label] for label in task.labels)


def draw_permutation(groups: IndexArray, quotas: Sequence[int], rng: np.random.Generator) -> Permutation:
    """Members drawn evenly from each group, without replacement, in random order."""
    members = [
        rng.choice(np.flatnonzero(groups == group), size=quota, replace=False) for group, quota in enumerate(quotas)
    ]
    return shuffle(np.concatenate(members).tolist(), rng)


def draw_permutations(
    examples: Sequence[Example], task: Task, config: SelectionConfig, first: int, count: int
) -> list[Permutation]:
    """Random permutations `first` to `first + count` of these examples; the i-th is the same for the same seed."""
    groups, quotas = group_by_label(examples, task, config)
    return [
        draw_permutation(groups, quotas, make_generator(config.seed, "random", index))
        for index in range(first, first + count)
    ]


def swap(members: Sequence[int], rng: np.random.Generator) -> Permutation:
    """The same members, two of them in each other's place; as they are, if there is but one."""
    order = list(members)
    if len(order) > 1:
        one, other = (int(place) for place in rng.choice(len(order), size=2, replace=False))
        order[one], order[other] = order[other], order[one]
    return tuple(order)


def shuffle(members: Sequence[int], rng: np.random.Generator) -> Permutation:
    """The same members in random order."""
    return tuple(int(member) for member in rng.permutation(np.asarray(members)))
