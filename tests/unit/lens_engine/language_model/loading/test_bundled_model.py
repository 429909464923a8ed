"""The model that ships with Lens, with its real weights."""

import numpy as np
import pytest

from lens_engine.language_model.loading.load import load_scorer

pytestmark = pytest.mark.model

PREFIXES = [
    (),
    ("A moving film with a wonderful cast. It was great.\n",),
    ("Two hours that I will not get back. It was terrible.\n", "Sharp, funny and warm. It was great.\n"),
]
QUERIES = [
    "I loved every minute of it. It was",
    "The worst thing I have seen this year, and I have seen a lot. It was",
    "Dull. It was",
]
SPANS = [" great", " terrible", " not good", " not bad"]


def test_packed_float32_scores_equal_plain_ones() -> None:
    packed = load_scorer("smollm2-135m-instruct", dtype="float32", device="cpu")
    plain = load_scorer("smollm2-135m-instruct", dtype="float32", device="cpu", executor="plain")

    label_log_probs = packed.score(PREFIXES, QUERIES, SPANS)

    assert packed.identity.executor == "packed"
    np.testing.assert_allclose(label_log_probs, plain.score(PREFIXES, QUERIES, SPANS), rtol=0, atol=1e-4)
    few_shot = label_log_probs[2, :, :2]
    assert few_shot[0, 0] > few_shot[0, 1], "it knows praise"
