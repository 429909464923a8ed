"""The share of the largest class stands beside accuracies, and what is below it is not recommended."""

import numpy as np
import pytest

from lens_engine.classifier.bag_of_words import WordsEstimate
from lens_engine.classifier.quality import Quality, RowFigures, measure_figures, measure_with_intervals
from lens_engine.presets import resolve_config
from lens_engine.prompt.template import Task
from lens_engine.prompt.wording import show_percent, show_share
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.suggest import suggest_for_rows
from lens_engine.show.report import ResultView
from lens_engine.show.verdict import advise_by_words, warn_of_largest_class
from lens_engine.testing import TableScorer
from lens_engine.types import Example

NOTHING_TO_LEARN = [
    Example(row, f"text {row * 7919 % 1009} of {row}", "a" if row % 10 < 4 else "bc"[row % 2]) for row in range(160)
]
OPTIONS = {
    "num_demonstrations": 2,
    "rows": {"search": 0},
    "search": {"sets": 4},
    "classifier": {"kind": "bag_of_words"},
}


def find(examples: list[Example]) -> SelectionResult:
    problem = Problem(Task.for_examples(examples), examples)
    return select_support_examples(problem, TableScorer(), resolve_config("quick", OPTIONS), progress=False)


def quality(right: int) -> Quality:
    """Of ten rows, six of which have the first label; the last rows are answered wrongly."""
    gold = np.array([0] * 6 + [1] * 4)
    answers = np.where(np.arange(10) < right, gold, 1 - gold)
    return measure_figures(RowFigures.of(np.log(np.where(np.arange(2) == answers[:, None], 0.9, 0.1)), gold))


def test_share_is_that_of_the_most_frequent_label_of_the_rows() -> None:
    assert quality(9).largest_class == 0.6
    gold = np.array([0, 1, 1, 2])
    assert measure_with_intervals(RowFigures.of(np.log(np.full((4, 3), 1 / 3)), gold)).largest_class == 0.5


@pytest.mark.parametrize(("right", "number"), [((7, 3), 0), ((6, 3), 1), ((), 0)])
def test_warning_says_that_nothing_beats_the_largest_class(right: tuple[int, ...], number: int) -> None:
    found = warn_of_largest_class([None, *map(quality, right)])
    assert len(found) == number
    assert all("nothing that was tested is better than always the most frequent label: 60 %" in one for one in found)


def test_run_below_the_largest_class_recommends_no_classifier() -> None:
    result = find(NOTHING_TO_LEARN)
    share = result.tested[0].cross_validated.largest_class
    assert share is not None
    assert result.verdict.sentence.startswith("Use nothing of this run as it is. ")
    assert f"Always the most frequent label: {show_share(share, 160)}." in result.verdict.sentence
    assert sum("nothing that was tested is better than" in warning for warning in result.warnings) <= 1
    assert f"always the most frequent label {show_percent(share)} %" in " ".join(result.summary().split())
    assert "always the most frequent label" in str(ResultView(result).accuracies.charts[0])


def test_words_at_the_level_of_guessing_do_not_tell_what_a_model_does() -> None:
    advice = suggest_for_rows(NOTHING_TO_LEARN).advice or ""
    assert "That is the level of guessing. How often a language model is right, a run tells." in advice
    assert "column" not in advice
    assert "worth a try" not in advice


@pytest.mark.parametrize(
    ("accuracy", "share", "number", "advice"),
    [
        (0.7, 0.5, 120, "worth a try where that is not enough."),
        (0.63, 0.62, 120, "a run tells."),  # within a standard error of guessing
        (0.7, 0.7, 999, "a run tells."),
        (0.7, 0.7, 1000, "Is this the column of the labels?"),
        (0.97, 0.5, 120, "leaves little for a language model to add."),
        (0.97, 0.98, 120, "a run tells."),
    ],
)
def test_advice_depends_on_largest_class_and_rows(accuracy: float, share: float, number: int, advice: str) -> None:
    found = advise_by_words(WordsEstimate(accuracy, number, number, share))
    assert found.endswith(advice)
    assert f"of all labelled rows (always the most frequent label: {show_share(share, 100)})" in found
