"""A result as a person prints it in Python: `repr` and summary."""

from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.pipeline import select_support_examples
from lens_engine.presets import resolve_config
from lens_engine.rows.problem import Problem
from lens_engine.show.asked import RunRequest
from tests.unit.lens_cli.results import VERDICT, make_answer, make_result


def test_repr_has_five_lines() -> None:
    assert repr(make_result()).splitlines() == [
        f"SelectionResult: {VERDICT.sentence}",
        "prompt: rows 913; right for 181 of 200 (91 %), macro-F1 0.90",
        "classifier: Classifier(argmax head, 1 prompt, labels 'positive', 'negative', model table)",
        "Took 5 min 12 s with smollm2 (float32, cpu, seed 3): 25,541 pairs, 714,216 tokens, 68 sets of examples.",
        "digest feed",
    ]
    assert str(make_result()) == repr(make_result())


@pytest.mark.parametrize("use", ["prompt", "probabilities"])
def test_repr_of_a_real_result_has_five_short_lines(
    use: str,
    make_planted_problem: Callable[..., Problem],
    make_planted_scorer: Callable[..., Any],
    make_config: Callable[..., SelectionConfig],
) -> None:
    config = make_config(search={"iterations": 1}, classifier={"kind": "auto"}, use=use)
    result = select_support_examples(make_planted_problem(), make_planted_scorer(), config, progress=False)

    lines = repr(result).splitlines()

    assert len(lines) == 5
    assert max(map(len, lines)) < 400


def test_repr_of_a_result_without_classifier_and_examples_says_so() -> None:
    answer = make_answer("prompt", examples=(), method="zero_shot", without_biases=None)
    lines = repr(make_result(classifier=None, support_examples=(answer, make_answer("probabilities")))).splitlines()
    assert lines[1:3] == ["prompt: rows –; not tested", "classifier: none"]


def test_summary_has_what_to_use_rivals_examples_in_order_and_cost() -> None:
    one = make_answer("prompt").examples[0]
    two = one.model_copy(update={"position": 1, "row": 4, "text": "a\nbore " + "very " * 100})
    answer = make_answer("prompt", examples=(one, two), recommended=False)

    lines = make_result(support_examples=(answer, make_answer("probabilities"))).summary().splitlines()

    assert lines[0].startswith(
        f"{VERDICT.sentence} Do not use the prompt where the classifier can be used: it is right"
    )
    examples = lines[lines.index("Examples, in order") + 1 :]
    assert [line.split() for line in examples[:2]] == [
        ["#", "text", "label", "word", "row"],
        ["1", "[red]loved[/red]", "it", "great", "913"],
    ]
    assert examples[2].split()[1:4] == ["a", "bore", "very"]
    assert "… " in examples[2]
    assert any(line.split() == ["best", "random", "examples", *["80", "%", "(74–85)", "0.79"] * 2] for line in lines)
    assert "note: 2 duplicates were dropped" in lines
    assert max(map(len, examples[:2])) <= 130
    assert lines[-1] == "digest feed"


def test_options_that_a_suggestion_gives_are_no_changes() -> None:
    config = resolve_config("quick", {"labels.rare": "drop", "rows.unlabelled": "skip"})
    parts = RunRequest("m", "{text} {label}", None, {}, "quick", config).list_parts()
    assert parts["preset"] == "quick"
    assert [parts[what] for what in ("labels with too few rows", "rows without a label")] == ["left out"] * 2
