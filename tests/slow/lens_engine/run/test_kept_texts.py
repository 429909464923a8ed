"""What the files of a run hold of the texts, as docs/privacy.md says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lens_engine.model.score_cache import PairCache, RememberingScorer
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import FileCheckpointStore
from lens_engine.testing import StatesTableScorer, TableScorer

Make = Callable[..., Any]


@pytest.fixture
def run(
    make_planted_problem: Make, make_config: Make, tmp_path: Path
) -> Callable[..., tuple[Problem, SelectionResult]]:
    def select(scorer: TableScorer, kind: str) -> tuple[Problem, SelectionResult]:
        problem = make_planted_problem()
        remembering = RememberingScorer(scorer, PairCache(tmp_path / "pairs.sqlite3", 1 << 24), ())
        config = make_config(classifier={"kind": kind, "fit_rows": 60}, search={"forms": ("fixed",)})
        store = FileCheckpointStore(tmp_path / "run.checkpoint")
        return problem, select_support_examples(problem, remembering, config, checkpoints=store)

    return select


@pytest.mark.parametrize(("kind", "words"), [("bag_of_words", True), ("states", False), ("label_probabilities", False)])
def test_result_holds_the_demonstrations_and_words_of_several_rows_alone(
    kind: str, words: bool, run: Make, tmp_path: Path
) -> None:
    problem, result = run(StatesTableScorer(), kind)

    assert result.classifier is not None
    shown = {row for answer in result.support_examples for row in answer.rows}
    shown |= {row for prompt in result.classifier.prompts for row in prompt.rows}
    written = result.model_dump_json()
    assert {one.row for one in problem.examples if one.text.split()[0] + " " in written} == shown
    without_prompts = result.classifier.head.model_dump_json()
    assert ("sunny" in without_prompts, result.classifier.holds_words) == (words, words)
    assert "day1" not in without_prompts
    checkpoint = FileCheckpointStore(tmp_path / "run.checkpoint").load()
    assert checkpoint is not None
    assert ("sunny" in str(checkpoint.values)) == bool(words or result.classifier.prompts)
