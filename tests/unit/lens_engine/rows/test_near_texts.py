"""Nearly equal texts."""

import random

import pytest

from lens_engine.rows import near_texts
from lens_engine.rows.near_texts import count_near, list_alike
from lens_engine.types import Example

WORDS = ("parcel", "money", "card", "late", "lost", "is", "my", "the", "where", "again", "please", "today")
LONG = " ".join(f"word{number}" for number in range(200))


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


@pytest.mark.parametrize(("bound", "value"), [("_MOST_CHARACTERS", 2_000), ("_MOST_COMPARISONS", 10_000)])
def test_of_too_many_texts_or_characters_a_sample_is_compared(
    bound: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = make_similar(400)
    monkeypatch.setattr(near_texts, bound, value)

    found = count_near(examples, examples)

    assert 50 < found <= 100
    assert found == count_near(examples, examples)


@pytest.mark.parametrize(
    ("one", "other", "is_near"),
    [
        ("Where is my parcel?", "where  is my PARCEL?", 1),
        ("Where is my parcel?", "Where is my parcel ?", 1),
        ("a", "b", 0),
        ("", "a", 0),
        (LONG, f"{LONG}!", 1),
        (LONG, LONG[:400] + "another end " * 60, 0),
    ],
)
def test_case_and_spaces_make_no_difference_and_long_texts_are_compared_in_full(
    one: str, other: str, is_near: int
) -> None:
    assert count_near(make_examples((one, "a")), make_examples((other, "b"))) == is_near


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
    assert count_near(make_examples((one, "a")), make_examples((other, "b"))) >= is_alike
