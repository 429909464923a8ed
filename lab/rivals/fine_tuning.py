"""Fine-tunes the language model on the whole pool, and collects the evidence for the coreset selectors.

The setting is that of the paper's appendix A: the same model with last-token pooling, five epochs, features and
gradients of the final layer. The model reads the rendered query of an example: the template up to the label word.
Gradient norms early in training are for GraNd (Paul et al., 2021, "Deep Learning on a Data Diet"). Whether each row is
classified right when training reads it is for forgetting events (Toneva et al., 2019).
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import deterministic

from lab.rivals.evidence import Evidence, LabelledRows
from lab.rivals.last_token import LastTokenClassifier, TokenRows, draw_batches
from lens_engine.errors import InvalidDataset, ModelError
from lens_engine.local.model_reader import (
    context_length,
    load_model,
    open_files,
    quiet_transformers,
    segment_tokenizer,
)
from lens_engine.local.torch_choices import open_device
from lens_engine.randomness import make_generator
from lens_engine.scoring.tokenization import SegmentTokenizer, Tokens
from lens_engine.task.template import Task
from lens_engine.types import Example, FloatArray, IndexArray

_EARLY_EPOCHS = 1
"""Epochs of training before the gradient norms for GraNd are measured."""

_memory: Any = deterministic  # its types do not declare its one property


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
class TrainableLM:
    """A language model without its head, to train a classifier on its hidden states."""

    body: Any  #: a torch module in float32; called with token ids [rows, tokens], it gives `last_hidden_state`
    tokenizer: SegmentTokenizer
    max_tokens: int  #: longest prompt (tokens)

    @classmethod
    def of(cls, model: Any, tokenizer: Any, name: str = "in-memory") -> "TrainableLM":
        """From a loaded transformers model; both share their weights."""
        return cls(model.base_model, segment_tokenizer(tokenizer, name), context_length(model))


@dataclass(frozen=True, slots=True)
class FineTunedModel:
    """A `FineTuner` for a model given by reference: each call loads the model, fine-tunes it and frees it."""

    reference: str  #: as `load_scorer` takes it
    device: str = "auto"

    def __call__(self, task: Task, pool: Sequence[Example], validation: Sequence[Example], seed: int) -> Evidence:
        """
        Raises:
            UnknownModel, UnsafeModel, ModelError: the model cannot be loaded.
            InvalidDataset, ModelError: as `fine_tune`.
        """
        device = open_device(self.device)
        with quiet_transformers():
            _, folder, tokenizer = open_files(self.reference, None)
            model = TrainableLM.of(load_model(folder, torch.float32, device), tokenizer, self.reference)
        return fine_tune(model, task, pool, validation, seed)


def fine_tune(
    model: TrainableLM,
    task: Task,
    pool: Sequence[Example],
    validation: Sequence[Example],
    seed: int,
    options: FineTuningOptions = FineTuningOptions(),
) -> Evidence:
    """Train on the pool, and compute features and probabilities of pool and validation rows with the trained model.

    On a CPU, equal arguments and an equal number of threads give equal evidence. On CUDA, equal arguments give equal
    evidence on one kind of GPU with equal versions; attention runs in plain operations for that, which take memory
    with the square of a query's length. During the call torch uses deterministic algorithms in the whole process.

    Args:
        model: its weights are changed in place.

    Raises:
        InvalidDataset: a label is not in the task, or a query has no tokens.
        ModelError: training diverged.
    """
    most_tokens = min(options.max_tokens, model.max_tokens)
    rows, others = (_read(model.tokenizer, task, examples, most_tokens) for examples in (pool, validation))
    device = next(model.body.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), repeatable_training(device):
        training = Training(LastTokenClassifier(model.body, len(task.labels)), rows, options, seed)
        training.train()
        described = training.describe(rows)
        return Evidence(
            described.groups,
            described.features,
            described.probabilities,
            early_gradient_norms=training.early_norms,
            correct_by_epoch=training.correct,
            validation=training.describe(others) if len(others) else None,
        )


def _read(tokenizer: SegmentTokenizer, task: Task, examples: Sequence[Example], most_tokens: int) -> TokenRows:
    """Tokens of the rendered queries. A query that is too long loses its beginning: the last token is pooled."""
    groups = task.index_labels(examples)
    tokens = tokenizer.encode_prefixes([(task.render_query(example.text),) for example in examples])
    for example, row in zip(examples, tokens, strict=True):
        if not row:
            raise InvalidDataset(
                f"row {example.row} has no tokens when rendered; give it a text", field="text", row=example.row
            )
    return TokenRows([_keep_end(row, len(tokenizer.leading_tokens), most_tokens) for row in tokens], groups)


def _keep_end(row: Tokens, num_leading: int, most: int) -> Tokens:
    if len(row) <= most:
        return row
    num_leading = min(num_leading, most - 1)
    return row[:num_leading] + row[len(row) - (most - num_leading) :]


@dataclass
class Training:
    """One training of an existing classifier, in place: AdamW with warm-up, on batches of similar lengths."""

    classifier: LastTokenClassifier
    rows: TokenRows
    options: FineTuningOptions
    seed: int
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
            if epoch + 1 == _EARLY_EPOCHS:
                self.early_norms = self.describe(self.rows).gradients.norms
        self.optimizer.zero_grad()

    def describe(self, rows: TokenRows) -> LabelledRows:
        described = self.classifier.describe(rows, self.options.batch_size)
        self._check_finite(np.isfinite(described.probabilities).all())
        return described

    def _train_epoch(self, epoch: int) -> None:
        self.classifier.train()
        lengths = np.array([len(row) for row in self.rows.tokens], dtype=np.intp)
        rng = make_generator(self.seed, "fine-tuning", 0, epoch)
        for batch in draw_batches(lengths, self.options.batch_size, rng):
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


@contextmanager
def repeatable_training(device: torch.device) -> Iterator[None]:
    """A context in which torch uses deterministic algorithms; afterwards its settings are as before.

    An operation that has none runs all the same, and torch warns.
    """
    with ExitStack() as settings:
        was_on, was_warning = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        settings.callback(torch.use_deterministic_algorithms, was_on, warn_only=was_warning)
        settings.callback(setattr, _memory, "fill_uninitialized_memory", _memory.fill_uninitialized_memory)
        torch.use_deterministic_algorithms(True, warn_only=True)
        _memory.fill_uninitialized_memory = False  # it costs time, and no operation here reads such memory
        if device.type == "cuda":
            # The backward passes of the fused attention kernels add up in any order, unless torch may raise errors
            # for other operations. Plain operations have no such pass.
            settings.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield
