"""Distances of gradients from their factors, where rounding would show. The selectors are tested against the rest."""

import numpy as np

from lab.rivals.fine_tuning.evidence import FinalLayerGradients


def test_a_gradient_is_at_no_distance_of_itself_and_of_its_like() -> None:
    rng = np.random.default_rng(3)
    residuals, features = rng.normal(size=(40, 3)), rng.normal(size=(40, 5))
    twice = FinalLayerGradients(np.tile(residuals, (2, 1)), np.tile(features, (2, 1)))

    distances = twice.squared_distances(twice)

    assert ((distances == 0) == (np.arange(80)[:, None] % 40 == np.arange(80) % 40)).all()
    assert (distances >= 0).all()
