"""Predictions as a sequence, and as columns."""

import numpy as np
import pytest

from lens_engine.classifier.predictions import Prediction, Predictions

PREDICTIONS = Predictions(("warm", "<b>", "warm"), np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]]), ("warm", "<b>"))


def test_predictions_are_a_sequence_in_the_order_of_the_texts() -> None:
    assert len(PREDICTIONS) == 3
    assert PREDICTIONS[0] == Prediction("warm", {"warm": 0.75, "<b>": 0.25}) == PREDICTIONS[-3]
    assert [one.label for one in PREDICTIONS] == ["warm", "<b>", "warm"]
    assert [one.probability for one in PREDICTIONS] == [0.75, 0.5, 1.0]
    with pytest.raises(IndexError):
        PREDICTIONS[3]


def test_slice_holds_the_predictions_of_its_texts() -> None:
    last = PREDICTIONS[1:]
    assert last.labels == ("<b>", "warm")
    assert last.probabilities.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert last.classes == PREDICTIONS.classes


def test_columns_have_labels_and_probabilities() -> None:
    columns = PREDICTIONS.to_dict()
    assert columns == {
        "label": ["warm", "<b>", "warm"],
        "probability": [0.75, 0.5, 1.0],
        "p_warm": [0.75, 0.5, 1.0],
        "p_<b>": [0.25, 0.5, 0.0],
    }
    frame = PREDICTIONS.to_pandas()
    assert {name: frame[name].tolist() for name in frame} == columns


def test_repr_counts_the_labels() -> None:
    assert repr(PREDICTIONS) == "Predictions(3 texts: 'warm' 2, '<b>' 1)"
    assert repr(PREDICTIONS[:0]) == "Predictions(0 texts)"
