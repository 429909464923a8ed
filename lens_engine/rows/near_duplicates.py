"""Pairs of rows whose texts are nearly equal and whose labels differ, and test rows that others nearly equal.

Texts are compared by their sets of five characters in a row, by cosine; of very many, a random sample is. In scripts
without spaces, where a character tells more, the sets have one to three in a row. A few are compared with all others by
the pairs of characters that they have in common, which needs no scikit-learn.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lens_engine.task.terms import measure_text, part_unspaced
from lens_engine.task.unicode_form import fold_text
from lens_engine.types import Example, Record

MOST_LISTED = 100  #: largest number of pairs, or of texts, that a report lists
_LEAST_SIMILARITY = 0.85
_CHARACTERS = 5
_NEIGHBOURS = 50  #: most similar texts that each text is compared with: texts of one pattern are all similar
_MOST_COMPARISONS = 25_000_000  #: one or two seconds
_MOST_CHARACTERS = 4_000_000  #: of the compared texts: some 25 bytes of memory each
_WORKING_MEMORY = 64  #: for similarities (MiB)
_LEAST_SHARE = 0.95  #: of pairs of characters that two texts have in common
_PAIRS = 509  #: number of the counted pairs of characters, of which several may be one
_BLOCK = 100  #: texts whose pairs are counted at a time
_LOOK_ALIKES = str.maketrans("авекмнорстухіјѕαβεικνορτυχ", "abekmhopctyxijsabeikvoptux")


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
        description="Similarity, at most 1: the cosine of the sets of five characters in a row, or of one to three in "
        "scripts without spaces. Case, repeated spaces, invisible characters, and alphabets of letters that look "
        "alike are ignored."
    )
    first: RowText = Field(description="The earlier row.")
    second: RowText = Field(description="The later row.")


class NearDuplicates(Record):
    """The pairs of rows whose texts are nearly equal and whose labels differ."""

    total: int = Field(description="Number of pairs with different labels and a similarity of at least 0.85.")
    compared: int = Field(
        description="Number of rows that were compared, each with its 50 most similar ones: the first row of each "
        "text, without the texts of more than one label; of more than 5,000, or of very long texts, a random sample."
    )
    pairs: tuple[NearDuplicate, ...] = Field(description="At most 100 pairs, the most similar first.")


def cut_text(text: str) -> str:
    """The text for a report, which names its row: at most 300 characters."""
    return text if len(text) <= 300 else f"{text[:300]}…"


def find_near_duplicates(examples: Sequence[Example]) -> NearDuplicates:
    """The pairs of nearly equal texts with different labels.

    Args:
        examples: rows with different texts.
    """
    rows = _sample(examples, int(_MOST_COMPARISONS**0.5))
    pairs = {
        (min(one, two), max(one, two)): similarity
        for one, two, similarity in _find_near(rows, rows, _NEIGHBOURS)
        if rows[one].label != rows[two].label
    }
    listed = sorted(pairs, key=lambda places: (-pairs[places], places))[:MOST_LISTED]
    return NearDuplicates(
        total=len(pairs),
        compared=len(rows),
        pairs=tuple(
            NearDuplicate(similarity=pairs[one, two], first=RowText.of(rows[one]), second=RowText.of(rows[two]))
            for one, two in listed
        ),
    )


def count_near(examples: Sequence[Example], others: Sequence[Example]) -> int:
    """How many of the examples have a text that is nearly equal to one of the others, whatever the labels.

    Very many or very long texts are compared in part, as by `find_near_duplicates`.
    """
    rows = _sample(examples, int(_MOST_COMPARISONS**0.5))
    others = _sample(others, _MOST_COMPARISONS // max(len(rows), 1))
    return len({one for one, _, _ in _find_near(rows, others, 1)})


def list_alike(texts: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The places of each text and of each of the others that is nearly equal: 20,000 others take tenths of a second."""
    asked = _count_pairs(texts)
    sums = asked.sum(axis=1, dtype=np.int64)
    for start in range(0, len(others), _BLOCK):
        counts = _count_pairs(others[start : start + _BLOCK])
        sizes = counts.sum(axis=1, dtype=np.int64)
        for place, (own, size) in enumerate(zip(asked, sums, strict=True)):
            needed = _LEAST_SHARE * (sizes + size) / 2
            near = np.flatnonzero(np.minimum(sizes, size) >= needed)
            common = np.minimum(counts[near], own).sum(axis=1, dtype=np.int32)
            yield from ((place, start + one) for one in near[common >= needed[near]].tolist())


def _count_pairs(texts: Sequence[str]) -> NDArray[np.uint8]:  # [texts, _PAIRS]
    """How many of each pair of characters in a row each text has, with its beginning and its end; at most 255."""
    shown = ["\n" + _look(text) for text in texts]
    codes = np.frombuffer("".join(shown).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    pairs = (codes * 31 + np.roll(codes, -1)) % _PAIRS
    rows = np.repeat(np.arange(len(shown)), list(map(len, shown)))
    counts = np.bincount(rows * _PAIRS + pairs, minlength=len(shown) * _PAIRS)
    return counts.clip(max=255).astype(np.uint8).reshape(len(shown), _PAIRS)


def _look(text: str) -> str:
    """The text without what hides that two are the same, and in Latin letters where others look like them."""
    return fold_text(text).translate(_LOOK_ALIKES)


def _sample(examples: Sequence[Example], most: int) -> list[Example]:
    """A random sample of at most `most` examples, in their order, of at most `_MOST_CHARACTERS` by `measure_text`."""
    places = random.Random(0).sample(range(len(examples)), min(most, len(examples)))
    room = np.cumsum([measure_text(examples[place].text) for place in places]) <= _MOST_CHARACTERS
    return [examples[place] for place in sorted(place for place, fits in zip(places, room, strict=True) if fits)]


def _find_near(rows: Sequence[Example], others: Sequence[Example], most: int) -> list[tuple[int, int, float]]:
    """The place of each row and of each nearly equal one of its `most` most similar others, with the similarity."""
    if not rows or not others:
        return []
    import sklearn  # slow to import
    from sklearn.neighbors import NearestNeighbors

    found: Any = NearestNeighbors  # which has no types
    neighbours = found(n_neighbors=min(most, len(others)), metric="cosine", algorithm="brute")
    with sklearn.config_context(working_memory=_WORKING_MEMORY):  # type: ignore[attr-defined]
        distances, places = neighbours.fit(_make_sets(others)).kneighbors(_make_sets(rows))
    similarities = np.round(1 - distances, 6)
    near = np.nonzero(similarities >= _LEAST_SIMILARITY)
    return list(zip(near[0].tolist(), places[near].tolist(), similarities[near].tolist(), strict=True))


def _make_sets(rows: Sequence[Example]) -> Any:
    """The set of each text, as a sparse matrix  # [texts, features]."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer: Any = HashingVectorizer(analyzer=_list_members, binary=True)  # type: ignore[no-untyped-call]
    return vectorizer.transform([_look(row.text) for row in rows])


def _list_members(text: str) -> list[str]:
    rest, terms = part_unspaced(text)
    return terms + [rest[start : start + _CHARACTERS] for start in range(max(len(rest) - _CHARACTERS + 1, 1))]
