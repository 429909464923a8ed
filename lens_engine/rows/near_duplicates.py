"""Pairs of rows whose texts are nearly equal and whose labels differ, and test rows that others nearly equal.

Texts are compared by their sets of five characters in a row, by cosine; of very many, a random sample is. In scripts
without spaces, where a character tells more, the sets have one to three in a row.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import Field

from lens_engine.task.terms import measure_text, part_unspaced
from lens_engine.task.unicode_form import fold_label
from lens_engine.types import Example, Record

MOST_LISTED = 100  #: largest number of pairs, or of texts, that a report lists
_LEAST_SIMILARITY = 0.85
_CHARACTERS = 5
_NEIGHBOURS = 50  #: most similar texts that each text is compared with: texts of one pattern are all similar
_MOST_COMPARISONS = 25_000_000  #: one or two seconds
_MOST_CHARACTERS = 4_000_000  #: of the compared texts: some 25 bytes of memory each
_WORKING_MEMORY = 64  #: for similarities (MiB)


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
        "scripts without spaces. Case and repeated spaces are ignored."
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
    return vectorizer.transform([fold_label(row.text) for row in rows])


def _list_members(text: str) -> list[str]:
    rest, terms = part_unspaced(text)
    return terms + [rest[start : start + _CHARACTERS] for start in range(max(len(rest) - _CHARACTERS + 1, 1))]
