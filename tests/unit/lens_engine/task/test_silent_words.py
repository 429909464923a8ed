import pytest

from lens_engine.task.silent_words import find_silent, warn_of_silent
from lens_engine.task.verbalizer import Verbalizer


@pytest.mark.parametrize(
    "label", ["0", "-1", "12", "1.0", "A", "b", "LABEL_3", "class 2", "Class-7", "cat_17", "cluster#4", "B2", "c-04"]
)
def test_words_that_say_nothing_are_found(label: str) -> None:
    assert find_silent(Verbalizer.of_labels([label, "refund"])) == [label]


@pytest.mark.parametrize(
    "label", ["yes", "no", "5 stars", "refund", "3d printing", "type 2 diabetes", "好", "ok", "b2b", "MP3", "CO2"]
)
def test_words_that_say_something_are_not(label: str) -> None:
    assert find_silent(Verbalizer.of_labels([label, "other"])) == []


def test_word_decides_and_not_the_label() -> None:
    assert find_silent(Verbalizer({"0": "negative", "1": "1"})) == ["1"]


def test_sentence_names_the_first_words() -> None:
    (said,) = warn_of_silent(Verbalizer.of_labels([f"LABEL_{number}" for number in range(12)]))
    assert said.startswith("the label words 'LABEL 0', 'LABEL 1', ")
    assert " and 2 more say nothing of what they stand for" in said
    assert warn_of_silent(Verbalizer.of_labels(["good", "bad"])) == []
