"""What is said of a prompt that finds demonstrations for each input, and of the forms and wordings that were tried."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from lens_cli.views.result import show_result
from lens_engine.result import SelectionResult, SupportExamples, TriedWording
from lens_engine.show.documents import write_html
from lens_engine.show.figures import tabulate_forms, tabulate_wordings
from lens_engine.show.report import ResultView
from lens_engine.show.sentences import describe_retrieval
from tests.formed import take_form
from tests.unit.lens_cli.results import CLASSIFIER, make_result

NEAREST = "For each text the prompt shows the 2 most similar of 24 rows, nearest last."
BOTH = "The prompt shows the support examples, then for each text the 2 most similar of 24 rows, nearest last."
WORDINGS = (
    TriedWording(template="{text} {label}", instruction="Which mood?", accuracy=0.8, macro_f1=0.75, n=60),
    TriedWording(template="{text} It was {label}.", instruction="", accuracy=0.625, macro_f1=0.5, n=8),
)


def show_everywhere(result: SelectionResult) -> dict[str, str]:
    """The result as each reader gets it, with single spaces."""
    console = Console(file=StringIO(), width=200)
    show_result(result, console)
    assert isinstance(console.file, StringIO)
    view = ResultView(result)
    shown = {
        "command": console.file.getvalue(),
        "summary": result.summary(),
        "notebook": result._repr_html_() or "",
        "report": write_html(view),
    }
    return {name: " ".join(text.split()) for name, text in shown.items()}


@pytest.mark.parametrize(("kind", "sentence"), [("nearest", NEAREST), ("fixed+nearest", BOTH)])
def test_every_reader_learns_how_demonstrations_are_found(kind: Any, sentence: str) -> None:
    result = take_form(make_result(task=CLASSIFIER.task, wordings=WORDINGS), kind)
    for name, text in show_everywhere(result).items():
        assert sentence in text, name
        assert "No examples" not in text, name
        assert "Which mood?" in text or name == "notebook", name
        assert "4 similar ones for each text" in text or name == "notebook", name


def test_fixed_prompt_says_nothing_of_forms() -> None:
    for text in show_everywhere(make_result(task=CLASSIFIER.task)).values():
        assert "similar" not in text
        assert "that were tried" not in text


def test_fixed_examples_are_named_as_what_they_are() -> None:
    nearest = " ".join(take_form(make_result()).summary().split())
    assert "For tools that take the same examples for every text: Examples, in order" in nearest
    both = take_form(make_result(), "fixed+nearest").summary()
    assert "Examples, in order; the similar ones follow" in both
    assert "For tools that take" not in both  # the same examples
    assert "2 similar ones for each text 91 %" in nearest


def test_forms_are_shown_beside_the_fixed_one() -> None:
    table = tabulate_forms(take_form(make_result()))
    assert table is not None
    assert table.rows == (
        ("the same examples for every text", "91 %", "0.91", "100"),
        ("2 similar ones for each text", "95 %", "0.94", "116"),
        ("4 similar ones for each text", "75 %", "0.70", "25"),
    )
    assert table.marked == {1}
    assert tabulate_forms(make_result()) is None


def test_wordings_are_shown_with_their_rows() -> None:
    table = tabulate_wordings(make_result(wordings=WORDINGS))
    assert table is not None
    assert table.rows == (
        ("{text} {label}", "Which mood?", "80 %", "0.75", "60"),
        ("{text} It was {label}.", "–", "63 %", "0.50", "8"),
    )


def test_pool_that_is_elsewhere_has_no_number() -> None:
    result = take_form(make_result()).model_copy(update={"pool": None})
    assert describe_retrieval(result, result.answer) == (
        "For each text the prompt shows the 2 most similar rows of the pool, nearest last."
    )


def test_use_of_another_form_has_its_own_sentence() -> None:
    result = take_form(make_result())
    first, second = result.support_examples
    mixed = result.model_copy(update={"support_examples": (first, second.fixed)})
    text = " ".join(write_html(ResultView(mixed)).split())
    assert isinstance(second.fixed, SupportExamples)
    assert NEAREST in text
    assert "Examples, in order (corrected)" in text
