"""Last-token pooling, its gradients, and batches of like lengths."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from lab.rivals.fine_tuning.classifier import (
    LastTokenClassifier,
    draw_batches,
)
from lens_engine.testing import TINY_ARCHITECTURES, TinyArchitecture, tiny_causal_lm

ROWS = [(5, 9, 11, 40, 3, 8), (7,), (12, 13, 90), (5, 9, 11)]


def make_classifier(architecture: TinyArchitecture = "llama", num_labels: int = 3) -> LastTokenClassifier:
    classifier = LastTokenClassifier(tiny_causal_lm(architecture).model.base_model, num_labels)
    classifier.restart_head(torch.Generator().manual_seed(0))
    return classifier.eval()


@pytest.mark.parametrize("architecture", TINY_ARCHITECTURES)
def test_pooling_takes_the_last_real_token_and_padding_changes_nothing(architecture: TinyArchitecture) -> None:
    classifier = make_classifier(architecture)
    with torch.no_grad():
        together = classifier.pool(ROWS)
        alone = [classifier.body(torch.tensor([row])).last_hidden_state[0, -1] for row in ROWS]
    torch.testing.assert_close(together, torch.stack(alone), rtol=1e-4, atol=1e-5)


def test_rows_are_described_in_their_own_order() -> None:
    classifier = make_classifier()
    heard = list[int]()
    groups = np.array([0, 1, 2, 1])
    described = classifier.describe(ROWS, groups, 3, heard.append)
    with torch.no_grad():
        expected = functional.softmax(classifier(ROWS), dim=1).numpy()
    np.testing.assert_allclose(described.probabilities, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(described.groups, groups)
    assert heard == [3, 1]


def test_gradients_are_those_that_autograd_finds_for_each_example() -> None:
    classifier = make_classifier()
    groups = np.array([0, 1, 2, 1])
    described = classifier.describe(ROWS, groups, 2, lambda _: None)
    for index, row in enumerate(ROWS):
        loss = functional.cross_entropy(classifier([row]), torch.tensor([groups[index]]))
        (expected,) = torch.autograd.grad(loss, classifier.head.weight)
        found = described.gradients.dense()[index].reshape(expected.shape)
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-3, atol=1e-5)


def test_every_row_is_in_one_batch_and_batches_hold_like_lengths() -> None:
    lengths = np.random.default_rng(0).integers(1, 200, size=530)
    batches = draw_batches(lengths, 8, np.random.default_rng(1))
    assert sorted(np.concatenate(batches).tolist()) == list(range(530))
    assert sorted(map(len, batches)) == [2] + [8] * 66
    spread = np.mean([np.ptp(lengths[batch]) for batch in batches])
    assert spread < 0.3 * np.ptp(lengths)
