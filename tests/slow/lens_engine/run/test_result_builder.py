"""The lead over the runner-up, as a run reports it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lens_engine import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.scoring.base import ScorerIdentity
from lens_engine.testing import TableScorer, hashed_log_prob

Make = Callable[..., Any]


class RoundedScorer(TableScorer):
    """A TableScorer that says it computes in another format."""

    def __init__(self, dtype: str, step: float) -> None:
        super().__init__(lambda *texts: round(hashed_log_prob(*texts) / 8.0 / step) * step - 1.0)
        self.dtype = dtype

    @property
    def identity(self) -> ScorerIdentity:
        return replace(super().identity, dtype=self.dtype)


@pytest.fixture(scope="module")
def select(make_planted_problem: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(dtype: str, step: float = 0.01, **options: Any) -> SelectionResult:
        return select_support_examples(make_planted_problem(), RoundedScorer(dtype, step), make_config(**options))

    return run


def notes(result: SelectionResult) -> list[str]:
    return [warning for warning in result.warnings if "as good as equal" in warning]


@pytest.mark.parametrize("seed", range(2))
def test_coarse_format_warns_of_a_lead_within_noise(seed: int, select: Callable[..., SelectionResult]) -> None:
    coarse, fine = (select(dtype, seed=seed) for dtype in ("bfloat16", "float32"))

    assert coarse.lead is not None
    assert fine.lead is not None
    assert coarse.rows == fine.rows
    assert coarse.lead.rows == fine.lead.rows >= 0
    assert coarse.lead.n == fine.lead.n == 20 + 16
    assert coarse.lead.close_rows > fine.lead.close_rows
    assert len(notes(coarse)) == coarse.lead.within_noise
    assert notes(fine) == []


def test_level_permutations_are_noted(select: Callable[..., SelectionResult]) -> None:
    result = next(found for seed in range(9) if (found := select("bfloat16", 1.0, seed=seed)).lead.rows == 0)

    assert len(notes(result)) == 1


def test_lead_is_on_validation_rows_where_nothing_was_confirmed(select: Callable[..., SelectionResult]) -> None:
    result = select("float16", splits={"confirmation": 0})

    assert result.lead is not None
    assert result.lead.n == 20


def test_one_permutation_has_no_runner_up(select: Callable[..., SelectionResult]) -> None:
    result = select("bfloat16", method="random")

    assert result.lead is None
    assert notes(result) == []
