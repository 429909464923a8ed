"""Fine-tunes the language model on the whole pool, and collects the evidence for the coreset selectors.

The setting is that of the paper's appendix A: the same model with last-token pooling, five epochs, features and
gradients of the final layer. The model reads the rendered query of an example: the template up to the label word.
Gradient norms early in training are for GraNd (Paul et al., 2021, "Deep Learning on a Data Diet"). Whether each row is
classified right when training reads it is for forgetting events (Toneva et al., 2019).
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
from lens_engine.model.local.model_reader import (
    context_length,
    load_model,
    open_files,
    quiet_transformers,
    segment_tokenizer,
)
from lens_engine.model.local.torch_choices import open_device
from lens_engine.model.tokenization import SegmentTokenizer, Tokens
from lens_engine.prompt.template import Task
from lens_engine.randomness import make_generator
from lens_engine.types import Example, FloatArray

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
    rows, others = (_read(model, task, examples, options.max_tokens) for examples in (pool, validation))
    device = next(model.body.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), repeatable_training(device):
        rng = make_generator(seed, "fine-tuning", 0)
        torch.manual_seed(int(rng.integers(2**63)))  # for dropout
        classifier = LastTokenClassifier(model.body, len(task.labels), int(rng.integers(2**63)))
        early_norms, correct = _train(classifier, rows, options, seed)
        found = _describe(classifier, rows, options)
        validated = _describe(classifier, others, options) if len(others) else None
    return Evidence(found.groups, found.features, found.probabilities, early_norms, correct, validated)


def _read(model: TrainableLM, task: Task, examples: Sequence[Example], max_tokens: int) -> TokenRows:
    """Tokens of the rendered queries. A query that is too long loses its beginning: the last token is pooled."""
    most, num_leading = min(max_tokens, model.max_tokens), len(model.tokenizer.leading_tokens)
    found: list[Tokens] = []
    for example in examples:
        (row,) = model.tokenizer.encode_prefixes([(task.render_query(example.text),)])
        if not row:
            raise InvalidDataset(
                f"row {example.row} has no tokens when rendered; give it a text", field="text", row=example.row
            )
        kept = min(num_leading, most - 1)
        found.append(row if len(row) <= most else row[:kept] + row[len(row) - (most - kept) :])
    return TokenRows(found, task.index_labels(examples))


def _train(
    classifier: LastTokenClassifier, rows: TokenRows, options: FineTuningOptions, seed: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """AdamW with warm-up, on batches of similar lengths.

    Returns:
        The norms of the early gradients `[rows]`, and whether a row was classified right just before the step that it
        is in `[epochs, rows]`.
    """
    correct = np.zeros((options.epochs, len(rows)), dtype=np.bool_)
    optimizer = _make_optimizer(classifier, options)
    steps = options.epochs * math.ceil(len(rows) / options.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: _rate_share(step, steps, round(steps * options.warmup_share))
    )
    lengths = np.array([len(row) for row in rows.tokens], dtype=np.intp)
    for epoch in range(options.epochs):
        classifier.train()
        rng = make_generator(seed, "fine-tuning", 0, epoch)
        for batch in draw_batches(lengths, options.batch_size, rng):
            groups = torch.from_numpy(rows.groups[batch]).to(classifier.device)
            logits = classifier([rows.tokens[row] for row in batch])
            loss = functional.cross_entropy(logits, groups)
            _check_finite(torch.isfinite(loss))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(classifier.parameters(), options.max_gradient_norm)
            optimizer.step()
            schedule.step()
            correct[epoch, batch] = (logits.argmax(dim=1) == groups).cpu().numpy()
        if epoch + 1 == _EARLY_EPOCHS:
            early_norms = _describe(classifier, rows, options).gradients.norms
    optimizer.zero_grad()
    return early_norms, correct


def _describe(classifier: LastTokenClassifier, rows: TokenRows, options: FineTuningOptions) -> LabelledRows:
    found = classifier.describe(rows, options.batch_size)
    _check_finite(np.isfinite(found.probabilities).all())
    return found


def _check_finite(is_finite: object) -> None:
    if not is_finite:
        raise ModelError("fine-tuning diverged; lower learning_rate")


def _make_optimizer(classifier: LastTokenClassifier, options: FineTuningOptions) -> torch.optim.Optimizer:
    matrices = [weights for weights in classifier.parameters() if weights.ndim >= 2]
    others = [weights for weights in classifier.parameters() if weights.ndim < 2]
    groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=options.learning_rate, fused=True)


def _rate_share(step: int, steps: int, warmup: int) -> float:
    """Share of the highest learning rate at a step (from 0): rises linearly, then falls linearly to 0."""
    return (step + 1) / (warmup + 1) if step < warmup else (steps - step) / max(steps - warmup, 1)


@contextmanager
def repeatable_training(device: torch.device) -> Iterator[None]:
    """A context in which torch uses deterministic algorithms; afterwards its settings are as before.

    An operation that has none runs all the same, and torch warns.
    """
    was_on = torch.are_deterministic_algorithms_enabled()
    was_warning = torch.is_deterministic_algorithms_warn_only_enabled()
    with ExitStack() as settings:
        settings.callback(torch.use_deterministic_algorithms, was_on, warn_only=was_warning)
        settings.callback(setattr, _memory, "fill_uninitialized_memory", _memory.fill_uninitialized_memory)
        torch.use_deterministic_algorithms(True, warn_only=True)
        _memory.fill_uninitialized_memory = False  # it costs time, and no operation here reads such memory
        if device.type == "cuda":
            # The backward passes of the fused attention kernels add up in any order, unless torch may raise errors
            # for other operations. Plain operations have no such pass.
            settings.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield
