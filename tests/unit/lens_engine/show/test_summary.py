"""A result as a person prints it in Python: `repr` and summary."""

import re
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from lens_cli.views.result import show_result
from lens_engine.presets import PRESETS, resolve_config
from lens_engine.result import SelectionResult, Verdict
from lens_engine.show.report import ResultView, RunRequest, write_fragment, write_html
from lens_engine.show.verdict import say_verdict
from tests.unit.lens_cli.results import VERDICT, make_answer, make_result
from tests.unit.lens_engine.show.reported import make_reported


def test_repr_has_five_lines() -> None:
    assert repr(make_result()).splitlines() == [
        f"SelectionResult: {VERDICT.sentence}",
        "prompt: rows 913; right for 181 of 200 test texts (91 %)",
        "classifier: Classifier(argmax head, 1 prompt, labels 'positive', 'negative', model table)",
        "Took 5 min 12 s with smollm2 (float32, cpu, seed 3): 25,541 pairs, 714,216 tokens, 68 sets of examples.",
        "digest feed",
    ]
    assert str(make_result()) == repr(make_result())


def test_repr_of_a_result_without_classifier_and_examples_says_so() -> None:
    answer = make_answer("prompt", examples=(), method="zero_shot", test=None, estimate=None)
    lines = repr(make_result(classifier=None, support_examples=(answer, make_answer("probabilities")))).splitlines()
    assert lines[1:3] == ["prompt: rows –; not judged", "classifier: none"]


def test_summary_has_what_to_use_rivals_examples_in_order_and_cost() -> None:
    one = make_answer("prompt").examples[0]
    two = one.model_copy(update={"position": 1, "row": 4, "text": "a\nbore " + "very " * 100})
    answer = make_answer("prompt", examples=(one, two), recommended=False)

    lines = make_result(support_examples=(answer, make_answer("probabilities"))).summary().splitlines()

    assert lines[0] == f"{VERDICT.sentence} Right of 100: counting words 86."
    examples = lines[lines.index("Examples, in order") + 1 :]
    assert [line.split() for line in examples[:2]] == [
        ["#", "text", "label", "word", "row"],
        ["1", "[red]loved[/red]", "it", "great", "913"],
    ]
    assert examples[2].split()[1:4] == ["a", "bore", "very"]
    assert "… " in examples[2]
    assert any(line.split()[:4] == ["random", "1", "91", "%"] for line in lines)
    assert "note: 2 duplicates were dropped" in lines
    assert max(map(len, examples[:2])) <= 130
    assert lines[-1] == "digest feed"


def test_options_that_a_suggestion_gives_are_no_changes() -> None:
    config = resolve_config("quick", {"labels.rare": "drop", "rows.unlabelled": "skip"})
    parts = RunRequest("m", "{text} {label}", None, {}, "quick", config).list_parts()
    assert parts["preset"] == "quick"
    assert [parts[what] for what in ("labels with too few rows", "rows without a label")] == ["left out"] * 2


def test_options_are_told_in_words() -> None:
    options = {"search.forms": "nearest,fixed+nearest", "balanced": False, "search.first_permutations": None}
    parts = RunRequest("m", "{text} {label}", None, {}, "quick", resolve_config("quick", options)).list_parts()
    assert [parts[path] for path in options] == ["similar examples, fixed and similar examples", "no", "none"]


_OLD_WORDS = re.compile(
    r"bag.of.words|random.and.validation|zero.shot|hidden.states|largest.class|permutation|demonstration|InfoScore"
    r"|accuracy|calibrat",
    re.IGNORECASE,
)
_OF_SPECIALISTS = re.compile(r"InfoScore|calibrat", re.IGNORECASE)
_THREE_DECIMALS = re.compile(r"(?<![\d.])[01]\.\d{3}(?!\d)")

_SPECIAL_HTML = re.compile(r"<section [^>]*>\s*<details>.*?</section>", re.DOTALL)
_MARKUP = re.compile(r"<style>.*?</style>|<[^>]*>", re.DOTALL)


def fragment(result: SelectionResult) -> tuple[str, str]:
    view = ResultView(result)
    return _part_html(write_fragment(view.choice, *view.sections))


def html_report(result: SelectionResult) -> tuple[str, str]:
    return _part_html(write_html(ResultView(result)))


def command(result: SelectionResult) -> tuple[str, str]:
    file = StringIO()
    show_result(result, Console(file=file, width=120))
    return file.getvalue(), ""


@pytest.mark.parametrize("write", [fragment, html_report, command, lambda result: (result.summary(), "")])
def test_result_is_told_in_plain_words(write: Callable[[SelectionResult], tuple[str, str]]) -> None:
    facts = make_result().provenance.model_copy(update={"config": PRESETS["quick"].model_dump(mode="json")})
    result = make_reported(provenance=facts)
    plain, special = write(result.model_copy(update={"verdict": Verdict(sentence=say_verdict(result))}))

    assert "of 200" in plain
    assert _OLD_WORDS.findall(plain) == []
    assert _THREE_DECIMALS.findall(plain) == []
    assert "log-loss" not in plain
    assert _OLD_WORDS.findall(_OF_SPECIALISTS.sub("", special)) == []


def _part_html(page: str) -> tuple[str, str]:
    """What everybody reads, and the folded sections for specialists."""
    special = "\n".join(_SPECIAL_HTML.findall(page))
    return _MARKUP.sub(" ", _SPECIAL_HTML.sub("", page)), _MARKUP.sub(" ", special)
