"""A language model as a classifier: the hidden state of the last token, and a linear head on it.

Rows are padded on the right. The model is causal, so no real token sees the padding, no mask is
needed, and a row's hidden state does not depend on the other rows of its batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from lab.rivals.evidence import LabelledRows
from lens_engine.scoring.tokenization import Tokens
from lens_engine.types import FloatArray, IndexArray

HEAD_SCALE = 0.02
"""Standard deviation of the head's initial weights, as in transformers."""

_PADDING = 0  # any token will do: no token attends to it
_SORTED_BATCHES = 8  # enough to lose little on padding, few enough to stay random


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
    """

    def __init__(self, body: Any, num_labels: int) -> None:
        super().__init__()
        self.body = body.requires_grad_(True)
        size = body.config.get_text_config().hidden_size
        self.head = torch.nn.Linear(size, num_labels, bias=False, device=self.device)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.body.parameters()).device
        return device

    def restart_head(self, generator: torch.Generator) -> None:
        """Draw new random weights for the head; `generator` must be a CPU generator."""
        weights = torch.randn(self.head.weight.shape, generator=generator) * HEAD_SCALE
        with torch.no_grad():
            self.head.weight.copy_(weights)

    def pool(self, tokens: Sequence[Tokens]) -> torch.Tensor:
        """Final hidden state at the last token of each row  # [rows, size], float32."""
        ids = torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(row) for row in tokens], batch_first=True, padding_value=_PADDING
        )
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
        for batch in cut_by_length(rows.tokens, batch_size):
            features[batch] = self.pool([rows.tokens[row] for row in batch]).cpu().numpy()
        logits = torch.from_numpy(features) @ self.head.weight.double().cpu().T
        probabilities: FloatArray = functional.softmax(logits, dim=1).numpy()
        return LabelledRows(rows.groups, features, probabilities)


def cut_by_length(tokens: Sequence[Tokens], batch_size: int) -> Iterator[IndexArray]:
    """Rows in batches, the shortest first."""
    order = np.argsort([len(row) for row in tokens], kind="stable")
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


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
