"""DSPy loads what is written for it, and asks a model what it should."""

from pathlib import Path

import pytest

from lens_engine.exports import Source
from tests.unit.lens_engine.test_exports import INPUT, INSTRUCTED, SYSTEM, TURNS, make_source, written


@pytest.mark.parametrize(
    "source", [make_source(TURNS), make_source([]), make_source(TURNS, INSTRUCTED)], ids=["plain", "none", "instructed"]
)
def test_dspy_sends_the_demonstrations_and_names_the_label_words(source: Source, tmp_path: Path) -> None:
    import dspy

    (tmp_path / "state.json").write_text(written(source, "dspy"), "utf-8")
    program = dspy.Predict("text -> label")
    program.load(tmp_path / "state.json")
    assert program.demos == [{"text": text, "label": word} for text, word in source.demonstrations]
    system, *turns = dspy.ChatAdapter().format(program.signature, program.demos, {"text": INPUT})
    assert SYSTEM in system["content"]
    assert len(turns) == 2 * len(source.demonstrations) + 1
    assert f"[[ ## text ## ]]\n{INPUT}\n" in turns[-1]["content"]
