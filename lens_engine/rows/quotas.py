"""Quotas: the number of demonstrations, of survivors of a round or of dealt rows, for each label."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lens_engine.config import SelectionConfig
from lens_engine.types import Example, IndexArray

T = TypeVar("T")


@dataclass(frozen=True)
class Quotas:
    """How many demonstrations of each label a permutation has. Computed once, from the labels and the options."""

    num_demonstrations: int
    by_label: Mapping[str, int] | None  #: None if permutations need not, or cannot, be label-balanced

    @classmethod
    def of(cls, counts: Mapping[str, int], shown: Mapping[str, int], config: SelectionConfig) -> "Quotas":
        """From the number of rows of each label, and of those from which demonstrations are drawn.

        With fewer demonstrations than labels, a permutation shows some of the labels, whichever are drawn.
        It shows at most half of the rows, and of each label at most half, because the others judge it.
        """
        n = min(config.num_demonstrations, max(sum(counts.values()) // 2, 1))
        if not config.balanced or n < len(counts):
            return cls(n, None)
        by_label = share_equally(n, {label: min(max(counts[label] // 2, 1), shown[label]) for label in counts})
        return cls(sum(by_label.values()), by_label)

    def group(self, label_indices: IndexArray) -> tuple[IndexArray, tuple[int, ...]]:
        """The group of each example `[examples]`, and the number of members of each group in a permutation.

        In label-balanced permutations each label is a group; otherwise all examples are one group.
        """
        if self.by_label is None:
            return np.zeros_like(label_indices), (self.num_demonstrations,)
        return label_indices, tuple(self.by_label.values())


def count_labels(examples: Iterable[Example], labels: Sequence[str]) -> dict[str, int]:
    """Number of examples of each label, in the order of `labels`; a label without examples has 0."""
    counts = Counter(example.label for example in examples)
    return {label: counts[label] for label in labels}


def share_equally(total: int, available: Mapping[str, int]) -> dict[str, int]:
    """Divide `total` places equally among the labels, within the examples available.

    A label with fewer examples than its share gives all of them, and the other labels share the remaining places.
    The remainder of an uneven division goes to the labels with the most examples, ties to the first in order.
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
    """Divide `total` places in proportion to the counts (largest-remainder method).

    If there are at least as many places as labels, every label with an example gets at least one place.
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
    """The first items of each label up to its quota, and the remaining items; both in the given order."""
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
