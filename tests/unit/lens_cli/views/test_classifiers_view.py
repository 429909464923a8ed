"""The tables of the compared prompts and of the candidates for the classifier."""

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from lens_cli.views.classifiers import build_classifiers_table, build_prompts_table, name_choice, name_classifier
from tests.unit.lens_cli.results import TESTED, make_answer, make_result


def drawn(table: Table | None, width: int = 120) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def cells(table: Table | None) -> list[tuple[object, ...]]:
    """The cells of each line, without the header."""
    assert table is not None
    return list(zip(*(column.cells for column in table.columns), strict=True))


def test_prompts_are_shown_for_both_uses() -> None:
    assert cells(build_prompts_table(make_result())) == [
        ("support examples of Lens", "0.905 (0.86–0.94)", "0.860 (0.81–0.90)", "200"),
        ("zero-shot", "–", "–", "–"),
        ("random-and-validation", "0.800 (0.74–0.85)", "0.800 (0.74–0.85)", "200"),
        ("random, on validation rows, mean of 10", "0.655 (0.50–0.83)", "–", "60"),
        ("other orders, mean of 10", "0.655 (0.50–0.83)", "–", "60"),
    ]


@pytest.mark.parametrize("method", ["lens", "zero_shot", "random_and_validation"])
def test_prompt_of_the_answer_stands_out(method: str) -> None:
    answers = (make_answer("prompt", method=method), make_answer("probabilities"))
    table = build_prompts_table(make_result(support_examples=answers, random=None, order=None))
    methods = [one.method for one in answers[0].contenders]
    assert [row.style is not None for row in table.rows] == [one == method for one in methods]


def test_candidates_are_named_by_what_they_read() -> None:
    assert [name_classifier(one) for one in TESTED] == [
        "bag of words, 1,420 rows",
        "hidden states, no examples, layer 16",
        "hidden states, after one prompt, layer 20",
        "label probabilities, 1 prompt, prior",
        "label probabilities, 2 prompts, linear",
    ]


def test_candidates_have_every_figure_and_the_chosen_one_stands_out() -> None:
    table = build_classifiers_table(make_result())
    lines = cells(table)
    assert lines[-1][1:] == ("0.500", "0.905", "0.856–0.938", "0.287", "0.031", "81")
    assert lines[1][1:] == ("0.500", "–", "–", "–", "–", "41")
    assert table is not None
    assert [row.style is not None for row in table.rows] == [one.is_chosen for one in TESTED]


def test_result_without_candidates_has_no_table_of_them() -> None:
    assert build_classifiers_table(make_result(tested=())) is None


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("lens", "support examples"),
        ("zero_shot", "zero-shot prompt"),
        ("random_and_validation", "random-and-validation examples"),
    ],
)
def test_only_the_examples_of_lens_are_called_support_examples(method: str, name: str) -> None:
    answers = (make_answer("prompt", method=method), make_answer("probabilities"))
    assert name_choice(make_result(support_examples=answers)) == name


@pytest.mark.parametrize("width", [80, 100, 120])
def test_tables_fit_and_cut_no_figure(width: int) -> None:
    for table in (build_prompts_table(make_result()), build_classifiers_table(make_result())):
        lines = drawn(table, width)
        assert max(map(len, lines)) <= width
        assert not any("…" in line for line in lines)
    assert any(line.split()[-6:] == ["0.500", "0.905", "0.856–0.938", "0.287", "0.031", "81"] for line in lines)
