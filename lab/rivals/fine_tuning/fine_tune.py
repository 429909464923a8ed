"""Fine-tunes the language model on the whole pool, and collects the evidence for the coreset selectors.

The setting is that of the paper's appendix A: the same model with last-token pooling, five epochs, features
and gradients of the final layer. The model reads the rendered query of an example: the template up to the
label word. Gradient norms early in training are for GraNd (Paul et al., 2021, "Deep Learning on a Data
Diet"). Whether each row is classified right when training reads it is for forgetting events (Toneva et
al., 2019).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from lab.rivals.fine_tuning.classifier import LastTokenClassifier
from lab.rivals.fine_tuning.evidence import Evidence, OnBatch, TuningRows
from lab.rivals.fine_tuning.repeatable import repeatable_training
from lab.rivals.fine_tuning.trainable import TrainableLM, load_for_training
from lab.rivals.fine_tuning.training import FineTuningOptions, Pace, TokenRows, Training
from lens_engine.errors import InvalidDataset, OutOfMemory
from lens_engine.local.memory import is_out_of_memory
from lens_engine.scoring.tokenization import Tokens
from lens_engine.task.template import Task
from lens_engine.types import Example

_BATCH = 64
"""Queries tokenised at a time."""


def fine_tune(language_model: TrainableLM, rows: TuningRows, options: FineTuningOptions, on_batch: OnBatch) -> Evidence:
    """Train on the pool, and compute features and probabilities of pool and validation rows with the trained model.

    On a CPU, equal arguments and an equal number of threads give equal evidence. On CUDA, equal arguments give equal
    evidence on one kind of GPU with equal versions; attention runs in plain operations for that, which take memory
    with the square of a query's length. During the call torch uses deterministic algorithms in the whole process.

    Args:
        language_model: see `load_for_training`; its weights are changed in place.

    Raises:
        InvalidDataset: the pool is empty, a label is not in the task, or a query has no tokens.
        ModelError: training diverged.
        OutOfMemory: the device has too little memory for a batch.
    """
    devices = [language_model.device] if language_model.device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices), repeatable_training(language_model.device):
            return _fine_tune(language_model, rows, options, on_batch)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemory(
            f"too little memory to fine-tune with {options.batch_size} examples a batch; lower batch_size or max_tokens"
        ) from error


@dataclass(frozen=True, slots=True)
class FineTunedModel:
    """A `FineTuner` for a model given by reference: each call loads the model, fine-tunes it and frees it."""

    reference: str  #: as `load_scorer` takes it
    device: str = "auto"

    def __call__(self, rows: TuningRows, on_batch: OnBatch) -> Evidence:
        """Load the model and call `fine_tune`.

        Raises:
            UnknownModel, UnsafeModel, ModelError: the model cannot be loaded.
            InvalidDataset, OutOfMemory: as `fine_tune`.
        """
        return fine_tune(load_for_training(self.reference, self.device), rows, FineTuningOptions(), on_batch)


def _fine_tune(
    language_model: TrainableLM, given: TuningRows, options: FineTuningOptions, on_batch: OnBatch
) -> Evidence:
    most_tokens = min(options.max_tokens, language_model.max_tokens)
    if not given.pool:
        raise InvalidDataset("there is no example to fine-tune on", field="examples")
    rows, other_rows = (
        _read(language_model, given.task, examples, most_tokens) for examples in (given.pool, given.validation)
    )
    classifier = LastTokenClassifier(language_model.body, len(given.task.labels))
    # Beside the epochs all rows are read for their early gradient norms, and at the end for their features.
    pace = Pace(len(rows) * (options.epochs + 2) + len(other_rows), on_batch)
    training = Training(classifier, rows, options, given.seed, pace)
    training.train()
    described = training.describe(rows)
    return Evidence(
        described.groups,
        described.features,
        described.probabilities,
        early_gradient_norms=training.early_norms,
        correct_by_epoch=training.correct,
        validation=training.describe(other_rows) if len(other_rows) else None,
    )


def _read(language_model: TrainableLM, task: Task, examples: Sequence[Example], most_tokens: int) -> TokenRows:
    """Tokens of the rendered queries. A query that is too long loses its beginning: the last token is pooled."""
    groups = task.index_labels(examples)
    tokenizer = language_model.tokenizer
    prefixes = [(task.render_query(example.text),) for example in examples]
    starts = range(0, len(prefixes), _BATCH)
    tokens = [row for start in starts for row in tokenizer.encode_prefixes(prefixes[start : start + _BATCH])]
    for example, row in zip(examples, tokens, strict=True):
        if not row:
            raise InvalidDataset(
                f"row {example.row} has no tokens when rendered; give it a text", field="text", row=example.row
            )
    leading = tokenizer.leading_tokens
    return TokenRows([_keep_end(row, len(leading), most_tokens) for row in tokens], groups)


def _keep_end(row: Tokens, num_leading: int, most: int) -> Tokens:
    if len(row) <= most:
        return row
    num_leading = min(num_leading, most - 1)
    return row[:num_leading] + row[len(row) - (most - num_leading) :]
