"""One selection by any method, on a planted problem."""

from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def select(problem: Problem, make_planted_scorer: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(method: str, *, listener: Any = None, checkpoints: Any = None, **options: Any) -> SelectionResult:
        config = make_config(method=method, **options)
        return select_support_examples(
            problem, make_planted_scorer(), config, listener=listener, checkpoints=checkpoints
        )

    return run
