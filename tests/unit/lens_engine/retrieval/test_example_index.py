import math
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.exports import prompt_module
from lens_engine.retrieval import index
from lens_engine.retrieval.index import ExampleIndex, Neighbour
from lens_engine.task.terms import list_terms
from tests.unit.lens_engine.retrieval.odd_texts import TEXTS

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


def test_similarity_is_the_cosine_of_tf_idf_vectors() -> None:
    texts = [*POOL, "late late late parcel"]
    asked = "the late parcel, the unheard-of parcel"

    def weigh(text: str) -> dict[str, float]:
        rows = Counter(term for one in texts for term in set(list_terms(one)))
        counts = Counter(list_terms(text))
        return {term: (1 + math.log(counts[term])) * (math.log(7 / (1 + rows[term])) + 1) for term in counts}

    def cosine(one: dict[str, float], other: dict[str, float]) -> float:
        product = sum(one[term] * other[term] for term in one.keys() & other.keys())
        return product / math.hypot(*one.values()) / math.hypot(*other.values())

    found = {one.place: one.similarity for one in ExampleIndex.of(texts).nearest([asked], 6)[0]}

    expected = [cosine(weigh(asked), weigh(text)) for text in texts]
    np.testing.assert_allclose([found[place] for place in range(6)], expected, atol=1e-6)


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


def test_excluded_rows_are_not_found() -> None:
    assert find_places(POOL, "my parcel is late", 3, 3, 0) == [2, 1, 4]


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
@given(st.lists(TEXTS, max_size=12), st.lists(TEXTS, min_size=1, max_size=3), st.integers(0, 13), st.data())
def test_pure_python_finds_the_same_rows_to_the_bit(
    texts: list[str], asked: list[str], k: int, data: st.DataObject
) -> None:
    excluded = data.draw(st.sets(st.integers(0, len(texts) - 1), max_size=3) if texts else st.just(set[int]()))
    asked = [*asked, *texts[:2]]

    found = ExampleIndex.of(texts).nearest(asked, k, excluded=excluded)

    plain = prompt_module.Index(texts)
    assert found == [plain.nearest(text, k, excluded) for text in asked]
    assert all(0 <= one.similarity <= 1 for neighbours in found for one in neighbours)


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXTS, max_size=8), TEXTS, st.integers(0, 40), st.integers(0, 200))
def test_bounds_are_the_same_in_pure_python(texts: list[str], asked: str, terms: int, characters: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (index, prompt_module):
            patch.setattr(module, "MOST_TERMS", terms)
            patch.setattr(module, "MOST_CHARACTERS", characters)

        found = ExampleIndex.of(texts).nearest([asked], 8)[0]

        assert found == prompt_module.Index(texts).nearest(asked, 8)


def test_bounds_are_those_of_the_module() -> None:
    assert (index.MOST_TERMS, index.MOST_CHARACTERS) == (prompt_module.MOST_TERMS, prompt_module.MOST_CHARACTERS)


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
