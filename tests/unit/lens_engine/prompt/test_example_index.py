import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_texts import TEXTS

from lens_engine.prompt import index
from lens_engine.prompt.index import ExampleIndex, Neighbour
from lens_engine.prompt.labelling import choose_texts
from lens_engine.prompt.text_checks import fold_text, list_terms

POOL = ("a good film", "a bad film", "where is my parcel", "the parcel is late", "a refund, please")


def find_places(texts: tuple[str, ...], text: str, k: int, *excluded: int) -> list[int]:
    return [one.place for one in ExampleIndex.of(texts).nearest([text], k, excluded=excluded)[0]]


def test_rows_with_the_same_words_are_found_first() -> None:
    found = ExampleIndex.of(POOL).nearest(["my parcel is late", "good film"], 2)

    assert [[one.place for one in neighbours] for neighbours in found] == [[3, 2], [0, 1]]
    assert all(1 > first.similarity > second.similarity > 0 for first, second in found)


@pytest.mark.parametrize(("asked", "nearest"), [("没到包裹", 0), ("包裹有钱退吗", 1), ("返金して", 2)])
def test_rows_in_scripts_without_spaces_are_found(asked: str, nearest: int) -> None:
    assert find_places(("我的包裹还没到", "请把钱退给我", "返金してください"), asked, 1) == [nearest]


def compute_similarities(texts: Sequence[str], asked: str) -> list[float]:
    """The cosine of TF-IDF vectors of each text and what is asked, in plain Python."""
    rows = Counter(term for one in texts for term in set(list_terms(one)))

    def weigh(text: str) -> dict[str, float]:
        counts = Counter(list_terms(text))
        idf = {term: math.log((1 + len(texts)) / (1 + rows[term])) + 1 for term in counts}
        values = {term: (1 + math.log(counts[term])) * idf[term] for term in counts}
        return {term: value / math.hypot(*values.values()) for term, value in values.items()}

    own = weigh(asked)
    return [sum(own.get(term, 0.0) * weight for term, weight in weigh(text).items()) for text in texts]


def test_similarity_is_the_cosine_of_tf_idf_vectors() -> None:
    texts = [*POOL, "late late late parcel"]
    asked = "the late parcel, the unheard-of parcel"

    found = {one.place: one.similarity for one in ExampleIndex.of(texts).nearest([asked], 6)[0]}

    np.testing.assert_allclose([found[place] for place in range(6)], compute_similarities(texts, asked), atol=1e-6)


def test_equally_similar_rows_come_in_their_order() -> None:
    texts = ("film", "parcel!", "parcel?", "film", "parcel.", "film", "film")

    assert find_places(texts, "a parcel", 7) == [1, 2, 4, 0, 3, 5, 6]
    assert find_places(texts, "a parcel", 2) == [1, 2]


@pytest.mark.parametrize("equal", ["A GOOD FILM", "  a good film\n", "a good film"])
def test_row_with_the_same_text_is_not_found(equal: str) -> None:
    assert find_places(POOL, equal, 5) == [1, 4, 2, 3]


def test_unicode_forms_of_one_text_are_the_same_text() -> None:
    composed, decomposed = (unicodedata.normalize(form, "déjà vu") for form in ("NFC", "NFD"))

    assert find_places((composed, decomposed, "vu"), decomposed, 3) == [2]


def test_rows_without_a_common_word_fill_up() -> None:
    found = ExampleIndex.of(POOL).nearest(["unheard-of"], 3)[0]

    assert found == [Neighbour(0, 0.0), Neighbour(1, 0.0), Neighbour(2, 0.0)]


@pytest.mark.parametrize(("k", "found"), [(0, 0), (4, 4), (9, 5)])
def test_a_small_pool_gives_what_it_has(k: int, found: int) -> None:
    assert len(ExampleIndex.of(POOL).nearest(["so"], k)[0]) == found


def test_empty_pool_gives_nothing() -> None:
    assert ExampleIndex.of([]).nearest(["so", ""], 4) == [[], []]


def test_words_that_differ_in_case_and_digits_alone_are_alike() -> None:
    assert ExampleIndex.of(["ORDER a17", "parcel"]).nearest(["order 4711"], 1) == [[Neighbour(0, pytest.approx(1.0))]]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=12), TEXTS, st.data())
def test_similarities_are_those_cosines_largest_first(texts: list[str], asked: str, data: st.DataObject) -> None:
    excluded = data.draw(st.sets(st.integers(0, len(texts) - 1), max_size=3) if texts else st.just(set[int]()))
    expected = compute_similarities(texts, asked)

    (found,) = ExampleIndex.of(texts).nearest([asked], 12, excluded=excluded)

    equal = {place for place, text in enumerate(texts) if fold_text(text) == fold_text(asked)}
    assert sorted(one.place for one in found) == sorted({*range(len(texts))} - excluded - equal)
    assert found == sorted(found, key=lambda one: (-one.similarity, one.place))
    assert all(0 <= one.similarity <= 1 for one in found)
    np.testing.assert_allclose([one.similarity for one in found], [expected[one.place] for one in found], atol=1e-4)


def test_beyond_its_characters_long_texts_are_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("late parcel", "a film about one late parcel and its driver")
    assert find_places(texts, "the driver", 1) == [1]

    monkeypatch.setattr(index, "MOST_CHARACTERS", 30)

    assert find_places(texts, "the driver", 1) == [0]
    assert find_places(texts, "a film", 1) == [1]
    assert find_places(("包裹没有到", "我的订单什么时候能到"), "候能", 1) == [0]  # such characters count threefold


def test_beyond_its_terms_the_rarest_find_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("ant", "bee cow", "cow dog", "cow")
    assert find_places(texts, "bee", 1) == [1]

    monkeypatch.setattr(index, "MOST_TERMS", 1)

    assert find_places(texts, "bee", 1) == [0]
    assert find_places(texts, "the cow", 3) == [3, 1, 2]


GROUPS = [f"the {kind} bill number{n} is late" for n, kind in enumerate(["gas"] * 12 + ["phone"] * 6)]
SINGLES = ["lovely weather", "who won yesterday", "cook soup slowly"]


@given(st.lists(TEXTS, max_size=25), st.lists(TEXTS, max_size=5), st.integers(1, 30), st.integers(0, 3))
def test_texts_are_proposed_once_a_third_at_random(texts: list[str], labelled: list[str], n: int, seed: int) -> None:
    found = choose_texts(texts, labelled, n, seed=seed)

    new = {fold_text(text) for text in texts} - {"", *map(fold_text, labelled)}
    folded = [fold_text(texts[one.place]) for one in found.texts]
    assert found.num_compared == len(new)
    assert len(folded) == len(set(folded)) == min(n, len(new))
    assert set(folded) <= new
    assert Counter(one.chosen_by for one in found.texts)["at random"] == round(len(folded) / 3)
    assert choose_texts(texts, labelled, n, seed=seed) == found


def test_each_beginning_has_its_third_at_random() -> None:
    chosen_by = [one.chosen_by for one in choose_texts(GROUPS, [], 9).texts]
    assert chosen_by == ["spread", "at random", "spread"] * 3


def test_random_texts_are_drawn_uniformly() -> None:
    runs = [choose_texts(GROUPS[:6], [], 6, seed=seed).texts for seed in range(150)]
    places = Counter(one.place for run in runs for one in run if one.chosen_by == "at random")
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
