"""A language model as a classifier: the hidden state of the last token, and a linear head on it.

Rows are padded on the right. The model is causal, so no real token sees the padding, no mask is needed, and a row's
hidden state does not depend on the other rows of its batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lab.rivals.evidence import LabelledRows
from lens_engine.model.tokenization import Tokens
from lens_engine.types import IndexArray

_HEAD_SCALE = 0.02
"""Standard deviation of the head's initial weights, as in transformers."""
_SORTED_BATCHES = 8
"""Batches that are sorted by length together: enough to lose little on padding, few enough to stay random."""


@dataclass(frozen=True)
class TokenRows:
    """Tokens and label indices of labelled examples."""

    tokens: list[Tokens]
    groups: IndexArray

    def __len__(self) -> int:
        return len(self.tokens)


class LastTokenClassifier(torch.nn.Module):
    """A causal model without its language-model head, under a linear head without bias.

    Args:
        body: the transformers model up to the final hidden states; its parameters are trained in place.
        num_labels: rows of the head.
        seed: of the head's initial weights.
    """

    def __init__(self, body: Any, num_labels: int, seed: int) -> None:
        super().__init__()
        self.body = body.requires_grad_(True)
        size = body.config.get_text_config().hidden_size
        self.head = torch.nn.Linear(size, num_labels, bias=False, device=self.device)
        weights = torch.randn(self.head.weight.shape, generator=torch.Generator().manual_seed(seed)) * _HEAD_SCALE
        with torch.no_grad():
            self.head.weight.copy_(weights)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.body.parameters()).device
        return device

    def pool(self, tokens: Sequence[Tokens]) -> torch.Tensor:
        """Final hidden state at the last token of each row  # [rows, size], float32."""
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in tokens], batch_first=True)
        last = torch.tensor([len(row) - 1 for row in tokens], device=self.device)
        states = self.body(ids.to(self.device), use_cache=False).last_hidden_state  # [rows, longest, size]
        pooled: torch.Tensor = states[torch.arange(len(tokens), device=self.device), last].float()
        return pooled

    def forward(self, tokens: Sequence[Tokens]) -> torch.Tensor:
        """Logits  # [rows, labels]."""
        logits: torch.Tensor = self.head(self.pool(tokens))
        return logits

    @torch.no_grad()
    def describe(self, rows: TokenRows, batch_size: int) -> LabelledRows:
        """Features and probabilities of rows, in their order."""
        self.eval()
        features = np.empty((len(rows), self.head.in_features))
        by_length = np.argsort([len(row) for row in rows.tokens], kind="stable")
        for start in range(0, len(rows), batch_size):
            batch = by_length[start : start + batch_size]
            features[batch] = self.pool([rows.tokens[row] for row in batch]).cpu().numpy()
        logits = torch.from_numpy(features) @ self.head.weight.double().cpu().T
        return LabelledRows(rows.groups, features, logits.softmax(dim=1).numpy())


def draw_batches(lengths: IndexArray, batch_size: int, rng: np.random.Generator) -> list[IndexArray]:
    """Every row once, in random batches of rows with similar lengths, in random order.

    Rows are shuffled, and each run of a few batches is sorted by length before it is cut.
    """
    order = rng.permutation(len(lengths))
    window = batch_size * _SORTED_BATCHES
    windows = [order[start : start + window] for start in range(0, len(order), window)]
    by_length = np.concatenate([rows[np.argsort(lengths[rows], kind="stable")] for rows in windows])
    batches = [by_length[start : start + batch_size] for start in range(0, len(by_length), batch_size)]
    return [batches[index] for index in rng.permutation(len(batches))]
