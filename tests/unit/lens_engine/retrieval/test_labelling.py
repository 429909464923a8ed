"""Which texts to label next: what is proposed, in which order, and by what."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from odd_texts import TEXTS

from lens_engine.retrieval.labelling import choose_texts
from lens_engine.task.text_checks import fold_text

GROUPS = [f"the {kind} bill number{n} is late" for n, kind in enumerate(["gas"] * 12 + ["phone"] * 6)]
SINGLES = ["lovely weather", "who won yesterday", "cook soup slowly"]


@given(st.lists(TEXTS, max_size=25), st.lists(TEXTS, max_size=5), st.integers(1, 30), st.integers(0, 3))
def test_new_texts_are_proposed_once_and_a_third_at_random(
    texts: list[str], labelled: list[str], n: int, seed: int
) -> None:
    found = choose_texts(texts, labelled, n, seed=seed)

    new = {fold_text(text) for text in texts} - {"", *map(fold_text, labelled)}
    folded = [fold_text(texts[one.place]) for one in found.texts]
    assert found.num_compared == len(new)
    assert len(folded) == len(set(folded)) == min(n, len(new))
    assert set(folded) <= new
    assert Counter(one.chosen_by for one in found.texts)["random"] == round(len(folded) / 3)
    assert choose_texts(texts, labelled, n, seed=seed) == found


def test_each_beginning_has_its_third_at_random() -> None:
    chosen_by = [one.chosen_by for one in choose_texts(GROUPS, [], 9).texts]
    assert chosen_by == ["coverage", "random", "coverage"] * 3


def test_random_texts_are_drawn_uniformly() -> None:
    runs = [choose_texts(GROUPS[:6], [], 6, seed=seed).texts for seed in range(150)]
    places = Counter(one.place for run in runs for one in run if one.chosen_by == "random")
    assert sum(places.values()) == 300
    assert set(places) == set(range(6))
    assert 30 < min(places.values()) <= max(places.values()) < 70  # 50 each


def cover(texts: list[str], labelled: list[str], **more: object) -> list[str]:
    """The first text by coverage where none is random."""
    return [texts[one.place] for one in choose_texts(texts, labelled, 1, **more).texts]  # type: ignore[arg-type]


def test_text_that_most_are_like_comes_first_and_labelled_ones_cover_theirs() -> None:
    texts = SINGLES + GROUPS
    assert "gas" in cover(texts, [])[0]
    assert "phone" in cover(texts, [*GROUPS[:2], "the gas bill is late"])[0]


def test_doubt_of_a_classifier_counts_from_fifty_labels_on() -> None:
    asked = list[int]()

    def ask(pool: object) -> np.ndarray:  # type: ignore[type-arg]
        asked.append(len(list(pool)))  # type: ignore[call-overload]
        return np.array([[0.5, 0.5] if text == SINGLES[1] else [1.0, 0.0] for text in SINGLES + GROUPS])

    labelled = [f"label{n}" for n in range(50)]
    assert "gas" in cover(SINGLES + GROUPS, labelled[:49], ask=ask)[0]
    assert asked == []
    assert cover(SINGLES + GROUPS, labelled, ask=ask) == [SINGLES[1]]
    assert asked == [21]


def test_of_too_many_texts_a_sample_is_compared() -> None:
    found = choose_texts(GROUPS, [], 18, most=5)
    assert found.num_compared == len(found.texts) == 5
    assert {one.place for seed in range(40) for one in choose_texts(GROUPS, [], 18, seed=seed, most=5).texts} == set(
        range(18)
    )
