"""An index of texts: which of them are most like a text, by their terms or by their embeddings.

By terms, similarity is the cosine of TF-IDF vectors. A term of a text weighs (1 + log count) * inverse document
frequency, smoothed as in Scikit-learn; a term that no text of the index has counts for the length of the vector alone.
Weights are whole multiples of 2^-24, so sums are exact in any order. By embeddings, it is the cosine of these, rounded
to whole multiples of 2^-12 for the same reason.
"""

import math
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy import float32, int32, int64
from numpy.typing import NDArray

from lens_engine.prompt.embedder import Embedder
from lens_engine.prompt.text_checks import fold_text, list_terms, measure_text

MOST_TERMS = 200_000
"""Largest number of terms by which rows are found: those of the most rows, and of equals those that come first."""

MOST_CHARACTERS = 4_000_000
"""Largest number of characters that an index reads, or fewer of scripts without spaces (`measure_text`). Beyond it, the
longest texts are read from their beginning only."""

_ROW_BYTES = 200
"""What a row takes besides numbers and text, measured."""

_ONE = 1 << 24
"""The weight 1. A sum of products of two weights is at most 2^48, which a float64 holds exactly."""

_ONE_OF_VECTORS = 1 << 12
"""The number 1 of an embedding: two of them make `_ONE`."""


class Neighbour(NamedTuple):
    """A row of the pool, and how much it is like a text."""

    place: int  #: in the pool, from 0
    similarity: float  #: 0 to 1


@dataclass(frozen=True, slots=True)
class _Postings:
    """The rows of each term, with the weight of the term in each row."""

    num_rows: int
    hashes: NDArray[int64]  # [terms], of the terms by this process, ascending: two of a million hardly ever share one
    starts: NDArray[int64]  # [terms + 1]: where the rows of each term begin
    places: NDArray[int32]  # [entries]: rows, term by term
    weights: NDArray[int32]  # [entries], in units of 1 / _ONE

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        ids, counts, ends = array("q"), array("i"), [0]
        for text in texts:
            found = Counter(list_terms(text))
            ids.extend(map(hash, found))
            counts.extend(found.values())
            ends.append(len(ids))
        entries = np.frombuffer(ids, dtype=int64)  # [entries], row by row
        order = np.argsort(entries, kind="stable").astype(int32)  # of the entries, term by term
        is_first = np.ones(len(entries), dtype=bool)
        is_first[1:] = entries[order[1:]] != entries[order[:-1]]
        begins = np.flatnonzero(is_first).astype(int32)  # [terms]
        rows_of_term = np.diff(begins, append=int32(len(entries)))  # [terms]
        rows = np.empty(len(entries), dtype=int32)  # [entries]: rows of its term
        rows[order] = np.repeat(rows_of_term, rows_of_term)
        idf = np.array([_idf(len(texts), number) for number in range(len(texts) + 1)])
        weights = array("i")
        for start, end in pairwise(ends):
            weights.extend(_weigh(counts[start:end], idf[rows[start:end]].tolist()))
        is_kept = np.zeros(len(begins), dtype=bool)
        is_kept[np.lexsort((order[begins], -rows_of_term))[:MOST_TERMS]] = True
        hashes = entries[order[begins[is_kept]]]  # [kept terms]
        order = order[np.repeat(is_kept, rows_of_term)]
        places = np.repeat(np.arange(len(texts), dtype=int32), np.diff(ends))
        return cls(
            num_rows=len(texts),
            hashes=hashes,
            starts=np.array([0, *accumulate(rows_of_term[is_kept].tolist())]),
            places=places[order],
            weights=np.frombuffer(weights, dtype=int32)[order],
        )

    @property
    def num_bytes(self) -> int:
        return sum(one.nbytes for one in (self.hashes, self.starts, self.places, self.weights))

    def score(self, text: str) -> NDArray[int64]:
        """How much each row is like a text  # [rows], in units of 1 / _ONE²."""
        found = Counter(list_terms(text))
        hashes = np.array([hash(term) for term in found], dtype=int64)
        places = [np.searchsorted(self.hashes, hashes, side) for side in ("left", "right")]
        spans = [slice(*ends) for ends in zip(*(self.starts[one].tolist() for one in places), strict=True)]
        weights = _weigh(list(found.values()), [_idf(self.num_rows, span.stop - span.start) for span in spans])
        scores = np.zeros(self.num_rows, dtype=int64)
        for span, weight in zip(spans, weights, strict=True):
            scores[self.places[span]] += self.weights[span] * int64(weight)
        return scores


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The embedding of each row."""

    embedder: Embedder
    vectors: NDArray[float32]  # [rows, size], whole numbers: in units of 1 / _ONE_OF_VECTORS

    @classmethod
    def of(cls, texts: Sequence[str], embedder: Embedder) -> Self:
        return cls(embedder, np.trunc(embedder.embed(texts) * _ONE_OF_VECTORS))

    @property
    def num_rows(self) -> int:
        return len(self.vectors)

    @property
    def num_bytes(self) -> int:
        return self.vectors.nbytes

    def score(self, text: str) -> NDArray[int64]:
        """As `_Postings.score`. No sum exceeds 2^24, so a float32 holds each exactly."""
        (vector,) = np.trunc(self.embedder.embed([text]) * _ONE_OF_VECTORS)
        return np.asarray((self.vectors @ vector).astype(int64) * _ONE)


@dataclass(frozen=True, slots=True, eq=False)
class ExampleIndex:
    """An index of the texts of a pool. Threads may share it."""

    _rows: _Postings | _Vectors
    _equals: Mapping[str, Sequence[int]]  #: places by what equal texts have in common
    _most_characters: int | None  #: of a text that are read; None for all

    @classmethod
    def of(cls, texts: Sequence[str], embedder: Embedder | None = None) -> Self:
        """The index of these texts. It takes some 70 microseconds and 4 kB for a text of 100 characters, four
        times as much in scripts without spaces.

        Args:
            embedder: gives the vectors by which texts are alike, in its own time; None for words.
        """
        most = _share_characters(texts) if embedder is None else None
        equals = defaultdict[str, list[int]](list)
        for place, text in enumerate(texts):
            equals[fold_text(text)].append(place)
        rows = _Postings.of([text[:most] for text in texts]) if embedder is None else _Vectors.of(texts, embedder)
        return cls(rows, dict(equals), most)

    @property
    def num_bytes(self) -> int:
        """Memory that the index takes (bytes), estimated."""
        return self._rows.num_bytes + sum(map(sys.getsizeof, self._equals)) + _ROW_BYTES * self._rows.num_rows

    def nearest(self, texts: Sequence[str], k: int, *, excluded: Collection[int] = ()) -> list[list[Neighbour]]:
        """For each text the `k` rows that are most like it, the most similar first; of equally similar ones, the first.

        A row with the same text, as `fold_text` compares it, is not found. Rows that have no term of the text fill up,
        so that there are fewer than `k` only if the pool has no more.

        Args:
            excluded: places that are not found either.
        """
        return [self._find(text, k, excluded) for text in texts]

    def similarities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How much each row is like each text, 0 to 1  # [texts, rows]."""
        return np.array([self._rows.score(text[: self._most_characters]) for text in texts]) / float(_ONE) ** 2

    def _find(self, text: str, k: int, excluded: Collection[int]) -> list[Neighbour]:
        scores = self._rows.score(text[: self._most_characters])
        hidden = {*excluded, *self._equals.get(fold_text(text), ())}
        scores[list(hidden)] = -2 * _ONE**2  # below each cosine
        best = _find_largest(scores, min(k, len(scores) - len(hidden)))
        return [Neighbour(place, max(int(scores[place]) / _ONE**2, 0.0)) for place in best.tolist()]


def _idf(num_rows: int, rows: int) -> float:
    """Inverse document frequency of a term, smoothed as if one more row had every term."""
    return math.log((1 + num_rows) / (1 + rows)) + 1


def _weigh(counts: Sequence[int], idf: Sequence[float]) -> list[int]:
    """Weights of the terms of a text, in units of 1 / _ONE; rounded down, so that no similarity is above 1."""
    values = [(1 + math.log(count)) * one for count, one in zip(counts, idf, strict=True)]
    length = math.sqrt(math.fsum(value * value for value in values))
    return [int(value / length * _ONE) for value in values]


def _share_characters(texts: Sequence[str]) -> int | None:
    """The length to which texts are cut so that all have `MOST_CHARACTERS` together; None if they have no more."""
    left = MOST_CHARACTERS * sum(map(len, texts)) // max(sum(map(measure_text, texts)), 1)
    for place, length in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - place)
        if length > share:
            return share
        left -= length
    return None


def _find_largest(scores: NDArray[int64], k: int) -> NDArray[np.intp]:
    """Places of the `k` largest scores, the largest first; of equal ones, the first."""
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > least)
    level = np.flatnonzero(scores == least)[: k - len(above)]
    places = np.concatenate([above, level])
    return places[np.argsort(-scores[places], kind="stable")]
