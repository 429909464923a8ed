"""Notes with options to fill in."""

import shlex

from lens_cli.select.words import note_silent_words, read_words
from lens_engine.prompt.verbalizer import Verbalizer


def test_note_on_silent_words_has_an_option_for_each_label() -> None:
    words = Verbalizer({"0": "0", "it's": "mixed", "LABEL_2": "LABEL 2"})
    (note,) = note_silent_words(words)
    sentence, _, flags = note.partition(": ")
    assert sentence.startswith("the label words '0', 'LABEL 2' say nothing of what they stand for")
    options = shlex.split(flags)
    assert options[::2] == ["--verbalizer"] * 3
    assert read_words([one.replace("…", f"word {place}") for place, one in enumerate(options[1::2])]) == {
        "0": "word 0",
        "it's": "mixed",
        "LABEL_2": "word 2",
    }
    assert note_silent_words(Verbalizer.of_labels(["good", "bad"])) == []


def test_note_on_many_silent_words_asks_for_a_file() -> None:
    (note,) = note_silent_words(Verbalizer.of_labels([str(number) for number in range(30)]))
    assert note.endswith('--verbalizer words.json, a file with a word for each label: {"0": "…", "1": "…", …}')
