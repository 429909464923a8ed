"""A result as a person reads it in Python: `repr`, summary, and HTML in a notebook."""

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.pipeline import select_support_examples
from lens_engine.rows.problem import Problem
from lens_engine.types import Example
from tests.unit.lens_cli.results import VERDICT, make_answer, make_result

HOSTILE = "<script>alert('&')</script>"


class Tags(HTMLParser):
    """Keeps the names of the tags of a page, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened = list[str]()
        self.closed = list[str]()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002  the parser's signature
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.closed.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_repr_has_five_lines() -> None:
    assert repr(make_result()).splitlines() == [
        f"SelectionResult: {VERDICT.sentence}",
        "prompt: rows 912; right for 181 of 200 (91 %), macro-F1 0.90",
        "classifier: Classifier(argmax head, 2 prompts, labels 'positive', 'negative', model table)",
        "Took 5:12 with smollm2 (float32, cpu, seed 3): 25,541 pairs, 714,216 tokens, 68 sets of examples.",
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
        ["1", "[red]loved[/red]", "it", "great", "912"],
    ]
    assert examples[2].split()[1:4] == ["a", "bore", "very"]
    assert "… " in examples[2]
    assert any(line.split() == ["best", "random", "examples", *["80", "%", "(74–85)", "0.79"] * 2] for line in lines)
    assert "note: 2 duplicates were dropped" in lines
    assert max(map(len, examples[:2])) <= 130
    assert lines[-1] == "digest feed"


def test_html_shows_texts_and_escapes_them() -> None:
    answer = make_answer("prompt", reason=HOSTILE)
    example = answer.examples[0].model_copy(update={"text": HOSTILE, "label_word": HOSTILE})
    answers = (answer.model_copy(update={"examples": (example,)}), make_answer("probabilities"))

    page = Tags(make_result(support_examples=answers, warnings=(HOSTILE,))._repr_html_())

    assert "script" not in page.opened
    assert sorted(page.opened) == sorted(page.closed)
    assert page.text.count(HOSTILE) == 3
    assert page.opened.count("svg") == 2


def test_html_of_hostile_rows_has_no_tag_of_theirs(
    make_planted_scorer: Callable[..., Any], make_config: Callable[..., SelectionConfig], task: Any
) -> None:
    examples = [
        Example(row, f"{HOSTILE} {row} quality90 {'sunny' if row % 2 else 'rainy'}", ("negative", "positive")[row % 2])
        for row in range(120)
    ]
    result = select_support_examples(
        Problem(task, examples), make_planted_scorer(), make_config(search={"iterations": 1}), progress=False
    )
    page = Tags(result._repr_html_())
    assert "script" not in page.opened
    assert HOSTILE in page.text
