"""The table of tested classifiers and the frontier."""

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from lens_cli.views.classifiers import (
    Row,
    build_classifiers_table,
    build_frontier_table,
    list_rows,
)
from tests.unit.lens_cli.results import FRONTIER, TESTED, make_result


def drawn(table: Table | None, width: int) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_table_lists_ensemble_support_examples_and_rivals() -> None:
    assert [row.name for row in list_rows(make_result())] == [
        "ensemble, 2 prompts, linear",
        "support examples, 1 prompt, argmax",
        "zero-shot, argmax",
        "zero-shot, prior",
        "random-and-validation, best of 72",
        "random ensemble, 5 prompts, linear",
        "no search, random, 5 prompts, linear",
        "long prompt, 40 examples, prior",
        "bag of words, 420 labelled rows",
        "random, mean of 10",
        "other orders, mean of 10",
    ]


def test_row_of_the_ensemble_has_every_figure() -> None:
    assert list_rows(make_result())[0] == Row(
        name="ensemble, 2 prompts, linear",
        accuracy="0.905",
        interval="0.856–0.938",
        n="200",
        macro_f1="0.903",
        log_loss="0.287",
        ece="0.031",
        tokens="1,412",
    )


def test_missing_figures_are_dashes() -> None:
    rows = {row.name: row for row in list_rows(make_result())}
    support, spread = rows["support examples, 1 prompt, argmax"], rows["random, mean of 10"]
    assert (support.accuracy, support.macro_f1) == ("0.880", "0.879")
    assert (support.log_loss, support.ece, support.tokens) == ("–", "–", "–")
    assert (spread.accuracy, spread.interval) == ("0.655", "(0.50–0.83)")
    assert (spread.macro_f1, spread.n) == ("–", "60")


def test_what_was_not_tested_has_no_row() -> None:
    rows = list_rows(make_result(tested=TESTED[1:2], random=None, order=None))
    assert [row.name for row in rows] == ["support examples, 1 prompt, argmax"]


def test_examples_of_another_method_keep_its_name() -> None:
    provenance = make_result().provenance.model_copy(update={"config": {"method": "random_and_validation"}})
    rows = list_rows(make_result(provenance=provenance))
    assert rows[1].name == "random-and-validation examples, 1 prompt, argmax"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_table_fits_and_cuts_no_figure(width: int) -> None:
    lines = drawn(build_classifiers_table(make_result()), width)

    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    first = next(line for line in lines if "ensemble" in line)
    assert first.split()[-7:] == ["0.905", "0.856–0.938", "0.903", "0.287", "0.031", "1,412", "200"]
    assert any("random-and-validation," in line for line in lines)


def test_frontier_lists_every_size() -> None:
    lines = drawn(build_frontier_table(make_result()), 80)
    assert lines[0].strip() == "Frontier: more prompts, more tokens"
    assert [line.split() for line in lines if line.strip()[:1].isdigit()] == [
        ["1", "prior", "706", "0.860", "0.391"],
        ["2", "linear", "1,412", "0.905", "0.287"],
    ]


def test_frontier_of_one_size_is_not_shown() -> None:
    assert build_frontier_table(make_result(frontier=FRONTIER[:1])) is None
    assert build_frontier_table(make_result(tested=TESTED[1:])) is None
