"""Least confidence, entropy, margin; forgetting and GraNd."""

from collections.abc import Callable

import numpy as np
import pytest

from lens_engine.baselines.evidence import Evidence, Select
from lens_engine.baselines.training_dynamics import count_forgetting, forgetting, grand
from lens_engine.baselines.uncertainty import entropy, least_confidence, margin

MakeEvidence = Callable[..., Evidence]

# By hand: highest probability 0.50, 0.45, 0.48; entropy 0.69, 0.95, 1.04; lead 0.01, 0.05, 0.20.
UNSURE = [[0.50, 0.49, 0.01], [0.45, 0.40, 0.15], [0.48, 0.28, 0.24]]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("select", "order"),
    [(least_confidence, [1, 2, 0]), (entropy, [2, 1, 0]), (margin, [0, 1, 2])],
    ids=["least-confidence", "entropy", "margin"],
)
def test_three_measures_of_being_unsure_give_three_orders(
    make_evidence: MakeEvidence, rng: np.random.Generator, select: Select, order: list[int]
) -> None:
    assert select(make_evidence(groups=[0, 0, 0], probabilities=UNSURE), (3,), rng) == order


def test_entropy_of_a_certain_row_is_zero_not_undefined(make_evidence: MakeEvidence, rng: np.random.Generator) -> None:
    evidence = make_evidence(groups=[0, 0], probabilities=[[1.0, 0.0], [0.9, 0.1]])

    assert entropy(evidence, (2,), rng) == [1, 0]


BY_ROW = [
    [True, True, True, True, True],  # never forgotten
    [True, False, True, False, True],  # twice
    [False, False, True, True, False],  # once: learning is no event
    [False, False, False, False, False],  # never learned
    [True, False, False, False, False],  # once: staying wrong is no event
]


def test_forgetting_events_are_falls_from_right_to_wrong() -> None:
    assert count_forgetting(np.array(BY_ROW).T).tolist() == [0.0, 2.0, 1.0, np.inf, 1.0]


def test_forgetting_takes_what_was_never_learned_then_the_most_forgotten(
    make_evidence: MakeEvidence, rng: np.random.Generator
) -> None:
    evidence = make_evidence(groups=[0] * 5, correct_by_epoch=np.array(BY_ROW).T)

    assert forgetting(evidence, (5,), rng) == [3, 1, 2, 4, 0]


def test_grand_takes_the_largest_mean_norm_over_runs(make_evidence: MakeEvidence, rng: np.random.Generator) -> None:
    # Means 5, 6, 4; the largest of any run is row 0's.
    evidence = make_evidence(groups=[0] * 3, early_gradient_norms=[[9.0, 6.0, 3.0], [1.0, 6.0, 5.0]])

    assert grand(evidence, (3,), rng) == [1, 0, 2]
