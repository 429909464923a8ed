"""Which texts to label next: some that stand for many others, and some at random.

Few labels are spent best on texts that many others are like, not on those of which a classifier is in doubt (Su et al.
2022, "Selective Annotation Makes Language Models Better Few-Shot Learners"; Mavromatis et al. 2024, "CoverICL"). A
chosen text covers each text as far as it is like it. Greedily the text is chosen that adds most to what the labelled
and chosen ones cover. From `LEAST_LABELS` on, the doubt of a classifier weighs the texts. Only the texts drawn at
random are a fair sample, by which an accuracy can be estimated.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lens_engine.prompt.index import ExampleIndex
from lens_engine.prompt.text_checks import fold_text
from lens_engine.randomness import make_generator
from lens_engine.types import FloatArray

MOST_TEXTS = 20_000
"""Largest number of unlabelled texts that are compared by default: a minute, which grows with its square."""

LEAST_LABELS = 50
"""Fewest labelled rows from which on the doubt of a classifier counts."""

_MOST_LABELLED = 2_000
"""Largest number of labelled texts that cover others; of more, a random sample."""

_NEIGHBOURS = 50
"""Number of texts that one covers besides itself. For 20,000 texts, they take 16 MB."""


class ChosenText(NamedTuple):
    """A text to label."""

    place: int  #: among the unlabelled texts, from 0
    chosen_by: Literal["spread", "at random"]


class ChosenTexts(NamedTuple):
    """The texts to label, and from how many they were chosen."""

    texts: tuple[ChosenText, ...]  #: a third of each beginning is random
    num_compared: int  #: number of different texts without a label; of more than are compared, of the sample


def choose_texts(
    texts: Sequence[str],
    labelled: Sequence[str],
    n: int,
    *,
    seed: int = 0,
    most: int = MOST_TEXTS,
    ask: Callable[[Sequence[str]], FloatArray] | None = None,
) -> ChosenTexts:
    """Choose `n` texts to label next, or all if there are fewer: a third at random, the others by what they cover.

    Texts that are labelled, blank or repeated, as `fold_text` compares them, are not chosen.

    Args:
        most: largest number of texts that are compared; of more, a random sample is.
        ask: gives the probabilities of the labels by a classifier  # [texts, labels]. It is not called while there are
            fewer than `LEAST_LABELS` labelled texts.
    """
    generator, known = make_generator(seed, "label-next"), {"", *map(fold_text, labelled)}
    first = {
        folded: place for place, text in reversed(list(enumerate(texts))) if (folded := fold_text(text)) not in known
    }
    places = np.sort(_draw(np.array(sorted(first.values()), dtype=np.int64), most, generator))
    pool = [texts[place] for place in places]
    drawn = _draw(np.arange(len(pool)), round(min(n, len(pool)) / 3), generator).tolist()
    some = _draw(np.arange(len(labelled)), _MOST_LABELLED, generator)
    weights = np.ones(len(pool)) if ask is None or len(labelled) < LEAST_LABELS else _measure_doubt(ask(pool))
    covering = _cover(pool, [labelled[place] for place in some], drawn, n - len(drawn), weights)
    chosen = [ChosenText(int(places[one]), "spread") for one in covering]
    for number, one in enumerate(drawn):
        chosen.insert(3 * number + 1, ChosenText(int(places[one]), "at random"))
    return ChosenTexts(tuple(chosen), len(pool))


def _draw(places: NDArray[np.int64], most: int, generator: np.random.Generator) -> NDArray[np.int64]:
    return generator.permutation(places)[:most]


def _measure_doubt(probabilities: FloatArray) -> FloatArray:
    """1 - margin of the two likeliest labels  # [texts]."""
    second, likeliest = np.sort(probabilities, axis=1)[:, -2:].T
    doubt: FloatArray = 1.0 - (likeliest - second)
    return doubt


def _cover(
    pool: Sequence[str], labelled: Sequence[str], drawn: Sequence[int], most: int, weights: FloatArray
) -> list[int]:
    """Places of the texts that cover most besides those that are labelled or drawn, the first the most."""
    index, k = ExampleIndex.of(pool), min(_NEIGHBOURS, max(len(pool) - 1, 0))
    near = np.zeros((len(pool), k), dtype=np.int64)  # [texts, neighbours]
    similarity = np.zeros((len(pool), k))  # [texts, neighbours]
    for place, text in enumerate(pool):
        (found,) = index.nearest([text], k)
        near[place], similarity[place] = [one.place for one in found], [one.similarity for one in found]
    covered = np.zeros(len(pool))  # [texts], 0 to 1
    for text in labelled:
        for one in index.nearest([text], _NEIGHBOURS)[0]:
            covered[one.place] = max(covered[one.place], one.similarity)

    def take(place: int) -> None:
        np.maximum.at(covered, near[place], similarity[place])
        covered[place] = 1.0
        is_open[place] = False

    is_open, chosen = np.ones(len(pool), dtype=bool), list[int]()
    for place in drawn:
        take(place)
    while len(chosen) < most and is_open.any():
        gains = (weights[near] * np.maximum(similarity - covered[near], 0.0)).sum(axis=1) + weights * (1.0 - covered)
        chosen.append(int(np.where(is_open, gains, -1.0).argmax()))
        take(chosen[-1])
    return chosen
