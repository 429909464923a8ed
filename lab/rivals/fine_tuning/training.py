"""One training of a classifier: AdamW with warm-up, on batches of similar lengths."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from lab.rivals.fine_tuning.classifier import LastTokenClassifier, draw_batches
from lab.rivals.fine_tuning.evidence import LabelledRows, OnBatch
from lens_engine.errors import ModelError
from lens_engine.randomness import make_generator
from lens_engine.scoring.tokenization import Tokens
from lens_engine.types import FloatArray, IndexArray

EARLY_EPOCHS = 1
"""Epochs of training before the gradient norms for GraNd are measured."""


@dataclass(frozen=True, slots=True)
class FineTuningOptions:
    """Five epochs of AdamW on the whole pool (appendix A). The other defaults are usual for about 100M weights."""

    epochs: int = 5
    batch_size: int = 16  #: examples in a step
    learning_rate: float = 5e-5  #: highest rate; after warm-up the rate falls linearly to 0
    warmup_share: float = 0.1  #: share of all steps in which the rate rises linearly from 0
    weight_decay: float = 0.01  #: applies to matrices, not to biases and norms
    max_gradient_norm: float = 1.0  #: a larger gradient of a batch is scaled down to this norm
    max_tokens: int = 512  #: longest query (tokens); a longer query loses its beginning


@dataclass(frozen=True)
class TokenRows:
    """Tokens and label indices of labelled examples."""

    tokens: list[Tokens]
    groups: IndexArray

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass
class Pace:
    """Counts the rows read, and calls the listener."""

    total: int
    on_batch: OnBatch
    done: int = field(init=False, default=0)

    def begin(self, rows: int) -> None:
        self.on_batch(self.done, self.total)
        self.done += rows


@dataclass
class Training:
    """One training of an existing classifier, in place."""

    classifier: LastTokenClassifier
    rows: TokenRows
    options: FineTuningOptions
    seed: int
    pace: Pace
    early_norms: FloatArray = field(init=False)  #: [rows]
    correct: NDArray[np.bool_] = field(init=False)  #: [epochs, rows]
    optimizer: torch.optim.Optimizer = field(init=False)
    step: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        rng = make_generator(self.seed, "fine-tuning", 0)
        torch.manual_seed(int(rng.integers(2**63)))  # for dropout; the caller restores torch's random state
        self.classifier.restart_head(torch.Generator().manual_seed(int(rng.integers(2**63))))
        self.correct = np.zeros((self.options.epochs, len(self.rows)), dtype=np.bool_)
        self.optimizer = _make_optimizer(self.classifier, self.options)

    def train(self) -> None:
        for epoch in range(self.options.epochs):
            self._train_epoch(epoch)
            if epoch + 1 == EARLY_EPOCHS:
                self.early_norms = self.describe(self.rows).gradients.norms
        self.optimizer.zero_grad()

    def describe(self, rows: TokenRows) -> LabelledRows:
        described = self.classifier.describe(rows.tokens, rows.groups, self.options.batch_size, self.pace.begin)
        self._check_finite(np.isfinite(described.probabilities).all())
        return described

    def _train_epoch(self, epoch: int) -> None:
        self.classifier.train()
        lengths = np.array([len(row) for row in self.rows.tokens], dtype=np.intp)
        rng = make_generator(self.seed, "fine-tuning", 0, epoch)
        for batch in draw_batches(lengths, self.options.batch_size, rng):
            self.pace.begin(len(batch))
            self.correct[epoch, batch] = self._train_batch(batch)

    def _train_batch(self, batch: IndexArray) -> NDArray[np.bool_]:
        """Do one step; returns whether each row was classified right before it  # [batch]."""
        groups = torch.from_numpy(self.rows.groups[batch]).to(self.classifier.device)
        logits = self.classifier([self.rows.tokens[row] for row in batch])
        loss = functional.cross_entropy(logits, groups)
        self._check_finite(torch.isfinite(loss))
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._update()
        correct: NDArray[np.bool_] = (logits.argmax(dim=1) == groups).cpu().numpy()
        return correct

    def _check_finite(self, is_finite: object) -> None:
        if not is_finite:
            raise ModelError(f"fine-tuning diverged within {self.step + 1} steps; lower learning_rate")

    def _update(self) -> None:
        torch.nn.utils.clip_grad_norm_(self.classifier.parameters(), self.options.max_gradient_norm)
        steps = self.options.epochs * math.ceil(len(self.rows) / self.options.batch_size)
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.learning_rate * _rate_share(self.step, steps, self.options.warmup_share)
        self.optimizer.step()
        self.step += 1


def _make_optimizer(classifier: LastTokenClassifier, options: FineTuningOptions) -> torch.optim.Optimizer:
    matrices = [weights for weights in classifier.parameters() if weights.ndim >= 2]
    others = [weights for weights in classifier.parameters() if weights.ndim < 2]
    groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=options.learning_rate, fused=True)


def _rate_share(step: int, steps: int, warmup_share: float) -> float:
    """Share of the highest learning rate at a step (from 0): rises linearly, then falls linearly to 0."""
    warmup = round(steps * warmup_share)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return (steps - step) / max(steps - warmup, 1)
