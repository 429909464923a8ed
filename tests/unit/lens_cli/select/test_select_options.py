"""Words of the command line become a task and a configuration; notes have options to fill in."""

import shlex
from pathlib import Path

import pytest

from lens_cli.select.options import SearchOptions, TaskOptions
from lens_cli.select.words import note_silent_words, read_words
from lens_engine.errors import InvalidConfig, InvalidInstruction, InvalidTemplate, InvalidVerbalizer
from lens_engine.presets import PRESETS
from lens_engine.prompt.verbalizer import Verbalizer


def test_label_words_keep_their_order() -> None:
    assert list(read_words(["positive=great", "negative=not = good"]).items()) == [
        ("positive", "great"),
        ("negative", "not = good"),
    ]


def test_list_of_labels_gives_each_its_own_word() -> None:
    assert read_words(["credit_card", "other"]) == {"credit_card": "credit card", "other": "other"}


@pytest.mark.parametrize(
    ("pairs", "field"),
    [
        (["positive"], "verbalizer"),
        (["positive", "negative=bad"], "verbalizer"),
        (["positive", "positive"], "verbalizer"),
        (["positive", "_"], "verbalizer"),
        (["positive=great", "positive=good"], "verbalizer.positive"),
    ],
)
def test_bad_label_words_are_refused_with_their_field(pairs: list[str], field: str) -> None:
    with pytest.raises(InvalidVerbalizer) as caught:
        read_words(pairs)
    assert caught.value.field == field


def test_task_has_template_words_and_separator() -> None:
    request = TaskOptions(["{text} It was {label}."], ["positive=great", "negative=terrible"], "\n\n").read()
    assert request.verbalizer is not None
    assert (list(request.verbalizer.words.values()), request.separator) == (["great", "terrible"], "\n\n")


def test_nothing_given_leaves_template_and_words_open() -> None:
    request = TaskOptions(None, [], "\n\n").read()
    assert (request.templates, request.verbalizer, request.separator) == ((), None, "\n\n")


def test_instruction_is_checked_before_the_file_is_read() -> None:
    assert TaskOptions(instruction=["Which {text}?"]).read().instructions == ("Which {text}?",)
    assert TaskOptions().read().instructions == ("",)
    with pytest.raises(InvalidInstruction, match="the instruction has only spaces") as caught:
        TaskOptions(None, [], "\n", [" "]).read()
    assert caught.value.field == "instruction"


def test_several_templates_and_instructions_are_kept_in_their_order() -> None:
    patterns = ["{text}: {label}", "{text} {label}"]
    request = TaskOptions(patterns, [], "\n", ["Which?", ""]).read()
    assert [one.pattern for one in request.templates] == patterns
    assert request.instructions == ("Which?", "")


def test_faults_of_several_parts_of_a_task_are_told_at_once() -> None:
    with pytest.raises(InvalidTemplate) as caught:
        TaskOptions(["{text} {label}", "{text}"], ["a"], "\n", ["Which?", "", " "]).read()
    assert [fault.field for fault in caught.value.faults] == ["template.1", "verbalizer", "instruction.2"]
    assert "template 2 of 2: the template has no {label} slot" in str(caught.value)


def test_options_override_the_preset() -> None:
    options = ["search.beam_width=3", "rows.test=null", "balanced=false", "filtering.contribution=vocabulary"]
    config = SearchOptions("quick", 7, option=options).read()
    assert (config.seed, config.search.beam_width, config.rows.test, config.balanced) == (7, 3, None, False)
    assert config.filtering.contribution == "vocabulary"
    assert config.search.iterations == PRESETS["quick"].search.iterations


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ("search.beam_width", "options"),
        ("=8", "options"),
        ("search.beam=8", "options.search.beam"),
        ("search.beam_width=many", "options.search.beam_width"),
        ("search.beam_width=0", "options.search.beam_width"),
    ],
)
def test_bad_option_is_refused_with_its_path(option: str, field: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        SearchOptions(option=[option]).read()
    assert caught.value.field == field


def test_label_with_an_equals_sign_is_found_among_those_of_the_dataset() -> None:
    labels = ["x=1", "x", "y"]
    given = ["x=1=one", "x=two=three", "y=z=y"]
    assert read_words(given, lambda: labels) == {"x=1": "one", "x": "two=three", "y": "z=y"}
    assert read_words(["a=b=a=b", "c=d"], lambda: ["a=b", "c"]) == {"a=b": "a=b", "c": "d"}


def test_dataset_is_not_read_for_words_that_are_plain() -> None:
    def refuse() -> list[str]:
        raise AssertionError

    assert read_words(["a=b", "c=d"], refuse) == {"a": "b", "c": "d"}


def test_words_are_read_from_a_json_file(tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    file.write_text('{"a=b": "yes", "c": "no"}', "utf-8-sig")
    assert read_words([str(file)]) == {"a=b": "yes", "c": "no"}


@pytest.mark.parametrize("content", [None, b"\xff\xfe\xff", b"{", b'["a"]', b'{"a": 1}'])
def test_unreadable_json_file_is_refused(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidVerbalizer, match=r"words\.json (cannot be read|must hold)"):
        read_words([str(file)])


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
