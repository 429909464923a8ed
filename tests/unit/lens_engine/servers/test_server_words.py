"""What a server says, without its secrets."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import InvalidVerbalizer
from lens_engine.servers.chat import find_answers, list_probes
from lens_engine.servers.refusal import clean_words, read_name

KEY = "sk-proj-0123456789abcdef"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"wrong key {KEY}.", "wrong key [key]."),
        ("wrong key: sk-proj-******cdef.", "wrong key: [key]"),
        ("ends in 9abcdef", "ends in [key]"),
        ("upstream key 'sk-SECRETKEY01234567***' is bad", "upstream key '[key]' is bad"),
        ("Authorization: Bearer abc", "Authorization: Bearer [key]"),
        ("no model llama-3.1-8b-instruct", "no model llama-3.1-8b-instruct"),
        ("two\r\nlines\0\x1b[31m \ud800", "two  lines  [31m"),
        ("x" * 5000, "x" * 300),
        (7, "7"),
        (None, "None"),
        ([[KEY]], "list"),
    ],
)
def test_words_are_shown_without_secrets(said: object, shown: str) -> None:
    assert clean_words(said, KEY) == shown


def test_short_key_is_masked() -> None:
    assert clean_words("the key abc is wrong", "abc") == "the key [key] is wrong"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("/models/hf_Qwen2.5-7B-Instruct", "/models/hf_Qwen2.5-7B-Instruct"),
        ("/models/hf_Qwen2.5-14B-Instruct", "/models/hf_Qwen2.5-14B-Instruct"),
        ("two\nlines\0", "two lines"),
        ("x" * 5000, "x" * 300),
        (5, "5"),
        (["a"], "list"),
        (None, None),
    ],
)
def test_name_of_a_model_is_not_masked(said: object, name: str | None) -> None:
    assert read_name(said) == name


WORD = st.text("abc", min_size=1, max_size=4)


def cut(words: Sequence[str], lengths: Sequence[int], space: str = "") -> list[dict[str, float]]:
    """What is listed if the first token of each word has this many characters."""
    return [{space + word[:length]: -0.1, "The": -3.0} for word, length in zip(words, lengths, strict=True)]


@given(st.lists(WORD, min_size=2, max_size=8, unique=True), st.data())
def test_answers_tell_every_label(words: list[str], data: st.DataObject) -> None:
    lengths = [data.draw(st.integers(1, len(word))) for word in words]
    found = find_answers(words, cut(words, lengths, data.draw(st.sampled_from(["", " "]))))

    for word, answer in zip(words, found or (), strict=found is not None):
        assert [one for one in words if one.startswith(answer)] == [word]
        assert len(answer) >= 2 or answer == word


@given(st.lists(WORD, min_size=2, max_size=8, unique=True))
def test_whole_words_stay_unless_one_begins_another(words: list[str]) -> None:
    begins = any(one != other and other.startswith(one) for one in words for other in words)

    assert find_answers(words, cut(words, [len(word) for word in words])) == (None if begins else tuple(words))


@pytest.mark.parametrize(
    ("words", "lengths"),
    [(("New York", "New Jersey"), (3, 3)), (("Billing", "Delivery"), (1, 8)), (("Bill", "Billing"), (4, 7))],
    ids=["alike", "one character", "beginning"],
)
def test_words_that_first_tokens_do_not_tell_are_replaced(words: tuple[str, str], lengths: tuple[int, int]) -> None:
    assert find_answers(words, cut(words, lengths)) is None


def test_most_probable_beginning_is_the_answer() -> None:
    listed = [{"B": -1.0, "Bill": -0.5, "Billing": -2.0, "**": -0.1}, {"Del": -math.inf, "Delivery": -0.2}]

    assert find_answers(("Billing", "Delivery"), listed) == ("Bill", "Delivery")


def test_word_that_is_not_repeated_is_replaced() -> None:
    assert find_answers(("Billing", "Delivery"), [{"The": -0.1}, {"Delivery": -0.1}]) is None


def test_more_labels_than_letters_are_refused_if_words_are_alike() -> None:
    words = [f"word {number}" for number in range(21)]

    with pytest.raises(InvalidVerbalizer, match="first token of the label word 'word 0' does not tell it from others"):
        find_answers(words, cut(words, [4] * 21))


def test_probe_has_its_word_last_and_repeats_others() -> None:
    for word, turns in zip(("one", "two", "three"), list_probes(["one", "two", "three"]), strict=True):
        assert turns[0]["role"] == "system"
        assert turns[-1] == {"role": "user", "content": word}
        assert word not in [turn["content"] for turn in turns[1:-1]]
        assert [turn["content"] for turn in turns[1:-1:2]] == [turn["content"] for turn in turns[2:-1:2]]
