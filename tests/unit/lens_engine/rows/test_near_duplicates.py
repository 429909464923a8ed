"""Nearly equal texts with different labels."""

import random
from itertools import combinations

import pytest

from lens_engine.rows import near_duplicates
from lens_engine.rows.near_duplicates import count_near, find_near_duplicates, list_alike
from lens_engine.types import Example

WORDS = ("parcel", "money", "card", "late", "lost", "is", "my", "the", "where", "again", "please", "today")


def make_examples(*rows: tuple[str, str]) -> list[Example]:
    return [Example(row, text, label) for row, (text, label) in enumerate(rows)]


def make_similar(number: int) -> list[Example]:
    """Short texts of few words, of which many differ by one word or one letter."""
    draw = random.Random(0)
    texts = dict[str, None]()
    while len(texts) < number:
        words = draw.choices(WORDS, k=draw.randint(1, 9))
        texts[" ".join(words)] = None
        words[draw.randrange(len(words))] = draw.choice(WORDS)
        texts[" ".join(words)] = None
        texts[" ".join(words) + "!"] = None
    return make_examples(*((text, draw.choice("abc")) for text in texts))


def similarity(one: str, other: str) -> float:
    first, second = ({text[at : at + 5] for at in range(max(len(text) - 4, 1))} for text in (one, other))
    return len(first & second) / (len(first) * len(second)) ** 0.5


def test_pairs_are_those_of_comparing_every_pair() -> None:
    examples = make_similar(400)

    found = find_near_duplicates(examples)

    pairs = {
        (one.row, other.row): similarity(one.text, other.text)
        for one, other in combinations(examples, 2)
        if one.label != other.label
    }
    near = {rows: value for rows, value in pairs.items() if value >= 0.85}
    first = sorted(near, key=lambda rows: (-near[rows], rows))[:100]
    assert len(near) > 100
    assert (found.total, found.compared) == (len(near), len(examples))
    assert [(pair.first.row, pair.second.row) for pair in found.pairs] == first
    assert [pair.similarity for pair in found.pairs] == pytest.approx([near[rows] for rows in first])


def test_case_and_spaces_make_no_difference_and_equal_labels_no_pair() -> None:
    examples = make_examples(
        ("Where is my parcel?", "delivery"), ("where  is my PARCEL?", "payment"), ("Where is my parcel ?", "delivery")
    )

    [closest, other] = find_near_duplicates(examples).pairs

    assert (closest.first.row, closest.second.row, closest.similarity) == (0, 1, 1.0)
    assert (other.first.row, other.second.row) == (1, 2)
    assert closest.second.text == "where  is my PARCEL?"


@pytest.mark.parametrize("texts", [(), ("a",), ("a", "b"), ("", "a")])
def test_short_and_few_texts_have_no_pairs(texts: tuple[str, ...]) -> None:
    found = find_near_duplicates(make_examples(*((text, str(row)) for row, text in enumerate(texts))))

    assert (found.total, found.compared, found.pairs) == (0, len(texts), ())


def test_long_texts_are_compared_in_full_and_shown_cut() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    far = text[:400] + " ".join(f"term{number}" for number in range(200))

    [pair] = find_near_duplicates(make_examples((text, "a"), (text + "!", "b"), (far, "b"))).pairs

    assert pair.second.row == 1
    assert pair.first.text == text[:300] + "…"


@pytest.mark.parametrize(("bound", "value"), [("_MOST_CHARACTERS", 2_000), ("_MOST_COMPARISONS", 10_000)])
def test_of_too_many_texts_or_characters_a_sample_is_compared(
    bound: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = make_similar(400)
    monkeypatch.setattr(near_duplicates, bound, value)

    found = find_near_duplicates(examples)

    assert 50 < found.compared <= 100
    assert found == find_near_duplicates(examples)
    assert max(pair.second.row for pair in found.pairs) > 200


def test_texts_of_one_pattern_are_compared_in_part() -> None:
    examples = make_examples(*((f"Where is the parcel with the number {row}?", "ab"[row % 2]) for row in range(300)))

    found = find_near_duplicates(examples)

    assert len(examples) < found.total <= len(examples) * near_duplicates._NEIGHBOURS
    assert len(found.pairs) == 100


def test_test_rows_that_are_nearly_equal_to_others_are_counted_once_each() -> None:
    examples = make_similar(300)
    test, others = examples[:60], examples[60:]
    near = [one for one in test if any(similarity(one.text, other.text) >= 0.85 for other in others)]
    assert 0 < len(near) < len(test)
    assert count_near(test, others) == len(near)
    assert count_near(test, []) == count_near([], others) == count_near([], []) == 0


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("now", "nоw", True),
        ("ΒΙΤΕ in spring", "bite in spring", True),
        ("where is the parcel that you sent to my mother?", "where is the parcel that you send to my mother?", True),
        ("where is the parcel that you sent to my mother?", "where is the parcel that you sent to my father?", False),
        ("parcel", "parcels", False),
        ("my mother sent the parcel", "the parcel sent my mother", False),
    ],
)
def test_few_texts_are_compared_with_all_others(one: str, other: str, is_alike: bool) -> None:
    others = [*(f"text {number}" for number in range(150)), other]

    assert list(list_alike([one], others)) == [(0, 150)] * is_alike
    assert find_near_duplicates(make_examples((one, "a"), (other, "b"))).total >= is_alike
