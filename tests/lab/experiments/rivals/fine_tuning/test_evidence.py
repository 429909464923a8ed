"""The factors of the final-layer gradients against the gradients written out."""

import numpy as np
import pytest

from experiments.rivals.fine_tuning.evidence import FinalLayerGradients, LabelledRows

NUM_LABELS, SIZE = 3, 5


def make_rows(count: int, seed: int) -> LabelledRows:
    rng = np.random.default_rng(seed)
    return LabelledRows(
        groups=rng.integers(NUM_LABELS, size=count),
        features=rng.normal(size=(count, SIZE)),
        probabilities=rng.dirichlet(np.ones(NUM_LABELS), size=count),
    )


@pytest.fixture
def rows() -> LabelledRows:
    return make_rows(7, seed=1)


@pytest.fixture
def gradients(rows: LabelledRows) -> FinalLayerGradients:
    return rows.gradients


@pytest.fixture
def others() -> FinalLayerGradients:
    return make_rows(4, seed=2).gradients


def test_gradient_is_residual_times_feature(rows: LabelledRows) -> None:
    residual = rows.probabilities[2].copy()
    residual[rows.groups[2]] -= 1.0
    expected = np.outer(residual, rows.features[2]).ravel()
    np.testing.assert_allclose(rows.gradients.dense()[2], expected)


def test_products_are_those_of_the_gradients_written_out(
    gradients: FinalLayerGradients, others: FinalLayerGradients
) -> None:
    np.testing.assert_allclose(gradients.products(others), gradients.dense() @ others.dense().T)


def test_norms_and_distances_are_those_of_the_gradients_written_out(
    gradients: FinalLayerGradients, others: FinalLayerGradients
) -> None:
    differences = gradients.dense()[:, None] - others.dense()[None]
    np.testing.assert_allclose(gradients.norms, np.linalg.norm(gradients.dense(), axis=1))
    np.testing.assert_allclose(gradients.squared_distances(others), (differences**2).sum(axis=2))


def test_a_gradient_is_at_no_distance_of_itself_and_of_its_like() -> None:
    rows = make_rows(40, seed=3)
    twice = FinalLayerGradients(np.tile(rows.gradients.residuals, (2, 1)), np.tile(rows.gradients.features, (2, 1)))

    distances = twice.squared_distances(twice)

    assert ((distances == 0) == (np.arange(80)[:, None] % 40 == np.arange(80) % 40)).all()
    assert (distances >= 0).all()


def test_total_and_products_with_a_direction(gradients: FinalLayerGradients) -> None:
    total = gradients.total()
    np.testing.assert_allclose(total.ravel(), gradients.dense().sum(axis=0))
    np.testing.assert_allclose(gradients.products_with(total), gradients.dense() @ total.ravel())
