"""What is judged can be changed as production changes it, and nothing else."""

import pytest

from lens_engine.classifier.heads import StatesHead
from lens_engine.errors import ModelMismatch
from lens_engine.evaluation.subject import make_classifier
from lens_engine.scoring.base import ScorerIdentity
from lens_engine.testing import TableScorer
from tests.unit.lens_cli.results import CLASSIFIER

TEXTS = ["Sunny", "Rainy", "a day"]
STATES = CLASSIFIER.model_copy(
    update={
        "head": StatesHead(layer=1, pooling="last", weights=((1.0,), (2.0,)), intercepts=(0.0, 0.0), inverse_l2=1.0),
    }
)


class OtherScorer(TableScorer):
    """Another model."""

    @property
    def identity(self) -> ScorerIdentity:
        return ScorerIdentity("other", revision="1" * 64, dtype="float32", device="cpu", executor="plain")


def test_coefficients_of_states_are_of_one_model() -> None:
    with pytest.raises(
        ModelMismatch, match="the classifier reads the model from within, and its coefficients are of table"
    ):
        make_classifier(STATES, OtherScorer(), is_other_model=True)


def test_another_model_is_asked_if_it_may_be() -> None:
    other = OtherScorer()
    with pytest.raises(ModelMismatch):
        make_classifier(CLASSIFIER, other)
    classifier = make_classifier(CLASSIFIER, other, is_other_model=True)
    assert classifier.model is not None
    assert classifier.model.model == "other"
    assert classifier.predict(TEXTS, other).labels
