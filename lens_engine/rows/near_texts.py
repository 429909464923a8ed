"""Test rows whose texts others nearly equal.

They are compared by their sets of five characters in a row, by cosine; of very many, a random sample is. In scripts
without spaces, where a character tells more, the sets have one to three in a row.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from lens_engine.prompt.text_checks import fold_text, measure_text, part_unspaced
from lens_engine.types import Example

_LEAST_SIMILARITY = 0.85
_CHARACTERS = 5
_MOST_COMPARISONS = 25_000_000  #: one or two seconds
_MOST_CHARACTERS = 4_000_000  #: of the compared texts: some 25 bytes of memory each
_WORKING_MEMORY = 64  #: for similarities (MiB)
_LOOK_ALIKES = str.maketrans("авекмнорстухіјѕαβεικνορτυχ", "abekmhopctyxijsabeikvoptux")


def count_near(examples: Sequence[Example], others: Sequence[Example]) -> int:
    """How many of the examples have a text that is nearly equal to one of the others, whatever the labels.

    Very many or very long texts are compared in part.
    """
    rows = _sample(examples, int(_MOST_COMPARISONS**0.5))
    others = _sample(others, _MOST_COMPARISONS // max(len(rows), 1))
    if not rows or not others:
        return 0
    import sklearn  # slow to import
    from sklearn.neighbors import NearestNeighbors

    found: Any = NearestNeighbors  # which has no types
    neighbours = found(n_neighbors=1, metric="cosine", algorithm="brute")
    with sklearn.config_context(working_memory=_WORKING_MEMORY):  # type: ignore[attr-defined]
        distances, _ = neighbours.fit(_make_sets(others)).kneighbors(_make_sets(rows))
    return int((np.round(1 - distances, 6) >= _LEAST_SIMILARITY).sum())


def _look(text: str) -> str:
    """The text without what hides that two are the same, and in Latin letters where others look like them."""
    return fold_text(text).translate(_LOOK_ALIKES)


def _sample(examples: Sequence[Example], most: int) -> list[Example]:
    """A random sample of at most `most` examples, in their order, of at most `_MOST_CHARACTERS` by `measure_text`."""
    places = random.Random(0).sample(range(len(examples)), min(most, len(examples)))
    room = np.cumsum([measure_text(examples[place].text) for place in places]) <= _MOST_CHARACTERS
    return [examples[place] for place in sorted(place for place, fits in zip(places, room, strict=True) if fits)]


def _make_sets(rows: Sequence[Example]) -> Any:
    """The set of each text, as a sparse matrix  # [texts, features]."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer: Any = HashingVectorizer(analyzer=_list_members, binary=True)  # type: ignore[no-untyped-call]
    return vectorizer.transform([_look(row.text) for row in rows])


def _list_members(text: str) -> list[str]:
    rest, terms = part_unspaced(text)
    return terms + [rest[start : start + _CHARACTERS] for start in range(max(len(rest) - _CHARACTERS + 1, 1))]
