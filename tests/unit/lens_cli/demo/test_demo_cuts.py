"""What the demonstration says that it leaves out."""

import shlex

from lens_cli.demo.cuts import list_cut_lines, select_line
from lens_cli.sample import DEMO_SPEC
from lens_cli.select.words import read_words
from lens_engine.presets import resolve_config


def test_every_smaller_option_is_named_with_the_preset_s() -> None:
    smaller, command = list_cut_lines(DEMO_SPEC)
    for group, options in DEMO_SPEC["options"].items():
        whole = getattr(resolve_config("quick"), group)
        for name, value in options.items():
            assert isinstance(value, bool) or f" {value} ({getattr(whole, name)})" in smaller
    assert command.endswith("--preset quick")


def test_select_line_asks_for_the_same_task() -> None:
    words = shlex.split(select_line(DEMO_SPEC))
    pairs = [words[index + 1] for index, word in enumerate(words) if word == "--verbalizer"]
    assert read_words(pairs) == DEMO_SPEC["verbalizer"]
    assert words[words.index("--template") + 1] == DEMO_SPEC["template"]
