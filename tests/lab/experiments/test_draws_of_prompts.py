"""Prompts of every form on draws of a training file."""

from lab.experiments.datasets import Dataset, TaskSettings
from lab.experiments.prompts import RUNS, TESTED, UPLOADED, make_problem, measure
from lens_engine.testing import TableScorer
from lens_engine.types import Example

SETTINGS = TaskSettings(
    words={"odd": "odd", "even": "even"}, templates=("{text} It was {label}.", "{text} Is it {label}?")
)
ROWS = tuple(Example(row, f"topic{row % 40} text {row}", "odd" if row % 2 else "even") for row in range(1_600))
DATASET = Dataset("numbers", SETTINGS, ROWS)
SMALL = {
    "num_demonstrations": 4,
    "splits": {"validation": 20, "confirmation": 16, "test": 30},
    "filtering": {"candidates": 30, "keep": 8, "rounds": 1, "initial_score_size": 4, "max_score_size": 4},
    "search": {"beam_width": 2, "children": 2, "iterations": 1, "first_permutations": 4, "halvings": 1},
}


def test_draws_have_rows_of_their_own() -> None:
    first, second = (make_problem(DATASET, draw, has_choice=False) for draw in (0, 1))
    assert first.test is not None
    assert (len(first.examples), len(first.test)) == (UPLOADED, TESTED)
    assert not {one.text for one in first.examples} & {one.text for one in first.test}
    assert [one.text for one in first.examples] != [one.text for one in second.examples]
    assert first.alternatives == ()


def test_choice_has_every_template_with_every_instruction() -> None:
    assert len(make_problem(DATASET, 0, has_choice=True).alternatives) == 2 * 4 - 1


def test_each_use_has_a_cell_of_each_prompt() -> None:
    cells = list(measure(make_problem(DATASET, 0, has_choice=True), TableScorer(), SMALL))
    for use in ("prompt", "probabilities"):
        found = [cell["method"] for cell in cells if cell["use"] == use]
        assert found == [
            "permutation", "zero_shot", "random_and_validation", "fixed", "chosen", *list(RUNS)[1:]
        ]  # fmt: skip
    assert all(0 <= cell["right_of_test"] <= cell["tested"] == 30 for cell in cells)
    assert len({(cell["template"], cell["instruction"]) for cell in cells}) == 1
