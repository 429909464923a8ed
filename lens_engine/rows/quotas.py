"""How many of each label: demonstrations, survivors of a filtering round, rows of a split."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.types import Example, FloatArray, IndexArray

T = TypeVar("T")


def count_labels(examples: Iterable[Example], labels: Sequence[str]) -> dict[str, int]:
    """Examples of each label, in the order of `labels`, zeros included."""
    counts = Counter(example.label for example in examples)
    return {label: counts[label] for label in labels}


def share_equally(total: int, available: Mapping[str, int]) -> dict[str, int]:
    """`total` places, the same number for each label as far as it has them.

    A label with fewer than its share gives all it has, and the others take its places. What is left
    of an uneven division goes to the labels with most examples, then to the first in order.
    """
    quotas = dict.fromkeys(available, 0)
    left = min(total, sum(available.values()))
    while left:
        open_labels = [label for label in available if quotas[label] < available[label]]
        open_labels.sort(key=lambda label: -available[label])
        each = max(1, left // len(open_labels))
        for label in open_labels:
            extra = min(each, available[label] - quotas[label], left)
            quotas[label] += extra
            left -= extra
    return quotas


def share_proportionally(total: int, available: Mapping[str, int]) -> dict[str, int]:
    """`total` places in proportion to the counts (largest remainder).

    A label that has an example gets at least one place, while there are as many places as labels.
    """
    whole = sum(available.values())
    total = min(total, whole)
    if not total:
        return dict.fromkeys(available, 0)
    exact = {label: total * count / whole for label, count in available.items()}
    quotas = {label: min(available[label], max(int(exact[label]), 1)) for label in available}
    by_need = sorted(available, key=lambda label: quotas[label] - exact[label])
    while sum(quotas.values()) < total:
        label = next(label for label in by_need if quotas[label] < available[label])
        quotas[label] += 1
        by_need.sort(key=lambda label: quotas[label] - exact[label])
    while sum(quotas.values()) > total:
        quotas[max(quotas, key=lambda label: (quotas[label] > 1, quotas[label] - exact[label]))] -= 1
    return quotas


def take_quotas(items: Iterable[T], quotas: Mapping[str, int], label_of: Callable[[T], str]) -> tuple[list[T], list[T]]:
    """The first items of each label, as many as its quota, and the rest; both in the given order."""
    left = dict(quotas)
    taken, rest = list[T](), list[T]()
    for item in items:
        label = label_of(item)
        if left[label]:
            left[label] -= 1
            taken.append(item)
        else:
            rest.append(item)
    return taken, rest


def spread_evenly(groups: IndexArray) -> FloatArray:
    """Where each row stands, between 0 and 1, when the rows of each group are spread evenly  # [rows].

    In this order every beginning has the groups in proportion.
    """
    places = np.empty(len(groups))
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        places[own] = (np.arange(len(own)) + 0.5) / len(own)
    return places


def demonstration_quotas(config: SelectionConfig, available: Mapping[str, int]) -> dict[str, int] | None:
    """Demonstrations of each label in a permutation; None when it need not be label-balanced.

    Raises:
        InvalidConfig: fewer demonstrations than labels, while label balance is asked for.
    """
    if not config.balanced:
        return None
    if config.num_demonstrations < len(available):
        raise InvalidConfig(
            f"num_demonstrations is {config.num_demonstrations}, but there are {len(available)} labels; "
            f"use at least {len(available)}, or set balanced to false",
            field="options.num_demonstrations",
        )
    return share_equally(config.num_demonstrations, dict.fromkeys(available, config.num_demonstrations))
