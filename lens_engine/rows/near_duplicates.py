"""Pairs of rows whose texts are nearly equal and whose labels differ, and test rows that others nearly equal.

Texts are compared by their sets of five characters in a row. Two sets of high similarity have one of their rarest
members in common, so only texts with a common rare member are compared (Bayardo, Ma & Srikant, "Scaling Up All Pairs
Similarity Search", WWW 2007). The result is that of comparing every pair.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from lens_engine.task.unicode_form import fold_label
from lens_engine.types import Example, FloatArray, IndexArray, Record

MOST_LISTED = 100
"""Largest number of pairs, or of texts, that a report lists."""

_LEAST_SIMILARITY = 0.75
_CHARACTERS = 5
_NUM_FEATURES = 2**20

_MOST_CHARACTERS = 4_000_000
"""Largest number of characters of the compared texts: some 25 bytes of memory each."""
_MOST_WORK = 500_000_000
"""Largest number of common members that are counted, 5 to 10 ns each: texts of one pattern are all similar."""
_WORK_AT_A_TIME = 500_000
"""About 25 MiB."""


class RowText(Record):
    """A row with its text."""

    row: int = Field(description="Number of the data row in the dataset, counted from 0.")
    label: str = Field(description="Label of the row.")
    text: str = Field(description="Text of the row; a long one is cut.")

    @classmethod
    def of(cls, example: Example) -> "RowText":
        return cls(row=example.row, label=example.label, text=cut_text(example.text))


class NearDuplicate(Record):
    """Two rows whose texts are nearly equal and whose labels differ."""

    similarity: float = Field(
        description="Similarity, at most 1: the Jaccard similarity of the sets of five characters in a row. Case and "
        "repeated spaces are ignored."
    )
    first: RowText = Field(description="The earlier row.")
    second: RowText = Field(description="The later row.")


class NearDuplicates(Record):
    """The pairs of rows whose texts are nearly equal and whose labels differ."""

    total: int = Field(
        description="Number of pairs of compared rows with different labels and a similarity of at least 0.75."
    )
    compared: int = Field(
        description="Number of rows that were compared, each with all others: the first row of each text, without the "
        "texts of more than one label. Fewer if the texts are very long or very many are similar: then the first ones."
    )
    pairs: tuple[NearDuplicate, ...] = Field(description="At most 100 pairs, the most similar first.")


class _Sets(NamedTuple):
    """The set of each text, and its rarest members. A member has a number; rarer members have lower numbers."""

    members: Any  # sparse matrix of ones  # [texts, features]
    sizes: IndexArray  # [texts]
    rarest: Any  # sparse matrix of ones  # [texts, features]
    num_rarest: IndexArray  # [texts]
    last_rarest: IndexArray  # [texts], the member of `rarest` with the highest number


def cut_text(text: str) -> str:
    """The text for a report, which names its row: at most 300 characters."""
    return text if len(text) <= 300 else f"{text[:300]}…"


def find_near_duplicates(examples: Sequence[Example]) -> NearDuplicates:
    """The pairs of nearly equal texts with different labels.

    Args:
        examples: rows with different texts.
    """
    labels = np.unique([example.label for example in examples], return_inverse=True)[1]
    best, total, compared = np.empty((3, 0)), 0, 0
    for end, near in _find_pairs(examples, labels):
        best = _keep_best([best, near])
        total, compared = total + near.shape[1], end
    pairs = [
        NearDuplicate(
            similarity=similarity, first=RowText.of(examples[int(one)]), second=RowText.of(examples[int(two)])
        )
        for similarity, one, two in best.T.tolist()
    ]
    return NearDuplicates(total=total, compared=compared, pairs=tuple(pairs))


def count_near(examples: Sequence[Example], others: Sequence[Example]) -> int:
    """How many of the examples have a text that is nearly equal to one of the others, whatever the labels.

    Very long texts, and very many that are similar, are compared in part, as by `find_near_duplicates`.
    """
    groups = np.repeat((0, 1), (len(examples), len(others)))
    pairs = [near[1] for _, near in _find_pairs([*examples, *others], groups)]
    return len(np.unique(np.concatenate(pairs))) if pairs else 0


def _find_pairs(examples: Sequence[Example], groups: IndexArray) -> Iterator[tuple[int, FloatArray]]:
    """Part by part, how many texts are compared so far, and similar pairs of different groups, as `_compare` gives
    them."""
    ends = accumulate(len(example.text) for example in examples)
    examples = examples[: sum(end <= _MOST_CHARACTERS for end in ends)]
    if not examples:
        return
    sets, work = _make_sets([fold_label(example.text) for example in examples]), 0
    estimates = _estimate_work(sets)
    for start, end in _cut(estimates, _WORK_AT_A_TIME):
        first, second = _find_candidates(sets, groups, start, end)
        sizes = sets.sizes[first] + sets.sizes[second]
        near = [_compare(sets, first[low:high], second[low:high]) for low, high in _cut(sizes, _WORK_AT_A_TIME)]
        yield end, np.concatenate([np.empty((3, 0)), *near], axis=1)
        work += int(estimates[start:end].sum() + sizes.sum())
        if work > _MOST_WORK:
            return


def _make_sets(texts: Sequence[str]) -> _Sets:
    from scipy.sparse import csr_matrix  # slow to import
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer: Any = HashingVectorizer(  # type: ignore[no-untyped-call]
        analyzer=_list_members, n_features=_NUM_FEATURES, binary=True, norm=None, dtype=np.float32
    )
    members = vectorizer.transform(texts)
    by_rarity = np.argsort(np.bincount(members.indices, minlength=_NUM_FEATURES), kind="stable")
    numbers = np.empty(_NUM_FEATURES, members.indices.dtype)
    numbers[by_rarity] = np.arange(_NUM_FEATURES)
    members.indices = numbers[members.indices]
    members.has_sorted_indices = False
    members.sort_indices()
    sizes = np.diff(members.indptr)
    num_rarest = sizes - np.ceil(_LEAST_SIMILARITY * sizes).astype(sizes.dtype) + 1
    last = members.indptr[:-1] + num_rarest - 1
    is_rarest = np.arange(members.nnz, dtype=last.dtype) <= np.repeat(last, sizes)
    ends = np.concatenate(([0], num_rarest.cumsum()))
    rarest = csr_matrix((members.data[is_rarest], members.indices[is_rarest], ends), shape=members.shape)
    return _Sets(members, sizes, rarest, num_rarest, members.indices[last])


def _list_members(text: str) -> list[str]:
    return [text[start : start + _CHARACTERS] for start in range(max(len(text) - _CHARACTERS + 1, 1))]


def _estimate_work(sets: _Sets) -> IndexArray:
    """For each text, how often other texts have its rarest members."""
    counts = np.bincount(sets.rarest.indices)
    return np.asarray(np.add.reduceat(counts[sets.rarest.indices], sets.rarest.indptr[:-1]))


def _find_candidates(sets: _Sets, groups: IndexArray, start: int, end: int) -> tuple[IndexArray, IndexArray]:
    """Pairs of an earlier text and one of the texts `start` to `end` of another group, as many as may be similar."""
    common = (sets.rarest[start:end] @ sets.rarest[:end].T).tocoo()
    first, second = common.col, common.row + start
    other = (first < second) & (groups[first] != groups[second])
    first, second, num_common = first[other], second[other], common.data[other]
    # A common member that is among the rarest of one text alone has a higher number than the rarest of the other.
    earlier = np.where(sets.last_rarest[first] < sets.last_rarest[second], first, second)
    most = num_common + sets.sizes[earlier] - sets.num_rarest[earlier]
    most = np.minimum(most, np.minimum(sets.sizes[first], sets.sizes[second]))
    may_be = _LEAST_SIMILARITY * (sets.sizes[first] + sets.sizes[second]) <= (1 + _LEAST_SIMILARITY) * most
    return first[may_be], second[may_be]


def _compare(sets: _Sets, first: IndexArray, second: IndexArray) -> FloatArray:
    """Those of the pairs that are similar  # [3, pairs]: similarity, first, second."""
    common = np.asarray(sets.members[first].multiply(sets.members[second]).sum(axis=1), dtype=float).ravel()
    similarity = common / (sets.sizes[first] + sets.sizes[second] - common)
    return np.stack((similarity, first, second))[:, similarity >= _LEAST_SIMILARITY]


def _keep_best(parts: Sequence[FloatArray]) -> FloatArray:
    """The most similar pairs of all parts, as `_compare` gives them; of equally similar ones the earlier."""
    found = np.concatenate(parts, axis=1)
    return found[:, np.lexsort((found[2], found[1], -found[0]))[:MOST_LISTED]]


def _cut(amounts: IndexArray, most: int) -> Iterator[tuple[int, int]]:
    """Starts and ends of parts whose amounts are about `most` each."""
    totals = amounts.cumsum()
    steps = np.arange(most, totals[-1] if len(totals) else 0, most)
    return pairwise(np.unique([0, *np.searchsorted(totals, steps), len(amounts)]).tolist())
