"""What is said of a prompt that finds demonstrations for each input."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from lens_cli.views.result import show_result
from lens_engine.result import SelectionResult
from lens_engine.show.report import ResultView, write_html
from lens_engine.show.sentences import describe_retrieval
from tests.formed import take_form
from tests.unit.lens_cli.results import CLASSIFIER, make_result, printed_on

NEAREST = "For each text the prompt shows the 2 most similar of 24 rows, nearest last."
BOTH = "The prompt shows the support examples, then for each text the 2 most similar of 24 rows, nearest last."


def show_everywhere(result: SelectionResult) -> dict[str, str]:
    """The result as each reader gets it, with single spaces."""
    console = Console(file=StringIO(), width=200)
    show_result(result, console)
    view = ResultView(result)
    shown = {
        "command": printed_on(console),
        "summary": result.summary(),
        "notebook": result._repr_html_() or "",
        "report": write_html(view),
    }
    return {name: " ".join(text.split()) for name, text in shown.items()}


@pytest.mark.parametrize(("kind", "sentence"), [("nearest", NEAREST), ("fixed+nearest", BOTH)])
def test_every_reader_learns_how_demonstrations_are_found(kind: Any, sentence: str) -> None:
    result = take_form(make_result(task=CLASSIFIER.task), kind)
    for name, text in show_everywhere(result).items():
        assert sentence in text, name
        assert "No examples" not in text, name
        assert "nearest 2" in text or kind != "nearest", name


def test_fixed_prompt_says_nothing_of_forms() -> None:
    for text in show_everywhere(make_result(task=CLASSIFIER.task)).values():
        assert "similar" not in text


def test_fixed_examples_are_named_as_what_they_are() -> None:
    nearest = " ".join(take_form(make_result()).summary().split())
    assert "For tools that take the same examples for every text: Examples, in order" in nearest
    both = take_form(make_result(), "fixed+nearest").summary()
    assert "Examples, in order; the similar ones follow" in both
    assert "For tools that take" not in both  # the same examples
    assert "nearest 2 prompt 91 % (84–95)" in nearest


def test_pool_that_is_elsewhere_has_no_number() -> None:
    result = take_form(make_result()).model_copy(update={"pool": None})
    assert describe_retrieval(result, result.answer) == (
        "For each text the prompt shows the 2 most similar rows of the pool, nearest last."
    )
