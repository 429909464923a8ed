"""Fine-tune the language model on the whole pool: the evidence that coreset selectors choose by.

As the paper's appendix A sets its rivals: the same model with last-token pooling, five epochs, features
and gradients of the final layer. What the model reads of an example is its rendered query: the template
up to the label word. Gradient norms early in training are those of GraNd (Paul et al., 2021, "Deep
Learning on a Data Diet"), and whether an example is classified right each time it is presented is what
forgetting events are counted from (Toneva et al., 2019).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from lens_engine.baselines.classifier import LastTokenClassifier, choose_autocast, count_batches, draw_batches
from lens_engine.baselines.evidence import Evidence, LabelledRows
from lens_engine.baselines.fine_tuning_options import FineTuningOptions
from lens_engine.errors import InvalidDataset, ModelError, OutOfMemory
from lens_engine.randomness import make_generator
from lens_engine.scoring.tokenization import Tokens
from lens_engine.template import Task
from lens_engine.types import Example, FloatArray, IndexArray

if TYPE_CHECKING:
    from lens_engine.scoring.causal_lm import TrainableLM

OnBatch = Callable[[int, int], None]
"""Called before each batch with rows done and rows in all, a row once for each time the model reads it.

It may raise, `Stopped` for one, to end the training there.
"""


def ignore_progress(_done: int, _total: int) -> None:
    pass


def fine_tune(
    language_model: "TrainableLM",
    task: Task,
    pool: Sequence[Example],
    *,
    validation: Sequence[Example] = (),
    options: FineTuningOptions | None = None,
    seed: int = 0,
    on_batch: OnBatch = ignore_progress,
) -> Evidence:
    """Train on the pool, and describe pool and validation rows by the trained model.

    Equal arguments give equal evidence on a CPU with as many threads.

    Args:
        language_model: see `load_for_training`; its weights are changed in place.
        validation: rows that only some methods look at; none are trained on.
        options: None for the defaults.

    Raises:
        InvalidDataset: the pool is empty, or a query has no tokens.
        ModelError: training diverged.
        OutOfMemory: the device has too little memory for a batch.
    """
    options = options or FineTuningOptions()
    devices = [language_model.device] if language_model.device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices):
            return _fine_tune(language_model, task, pool, validation, options, seed, on_batch)
    except torch.OutOfMemoryError as error:
        raise OutOfMemory(
            f"too little memory to fine-tune with {options.batch_size} examples a batch; lower batch_size or max_tokens"
        ) from error


@dataclass(frozen=True)
class _Rows:
    """Tokens and label indices of labelled examples."""

    tokens: list[Tokens]
    groups: IndexArray

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass
class _Pace:
    """Counts rows read, and tells the listener."""

    total: int
    on_batch: OnBatch
    done: int = field(init=False, default=0)

    def begin(self, rows: int) -> None:
        self.on_batch(self.done, self.total)
        self.done += rows


def _fine_tune(
    language_model: "TrainableLM",
    task: Task,
    pool: Sequence[Example],
    validation: Sequence[Example],
    options: FineTuningOptions,
    seed: int,
    on_batch: OnBatch,
) -> Evidence:
    most_tokens = min(options.max_tokens, language_model.max_tokens)
    if not pool:
        raise InvalidDataset("there is no example to fine-tune on", field="examples")
    rows, other_rows = (_read(language_model, task, examples, most_tokens) for examples in (pool, validation))
    autocast = choose_autocast(options.autocast, language_model.device)
    classifier = LastTokenClassifier(language_model.body, len(task.labels), autocast)
    pace = _Pace(_rows_to_read(len(rows), len(other_rows), options), on_batch)
    training = _train_all(classifier, rows, options, seed, pace)
    described = training.describe(rows)
    return Evidence(
        described.groups,
        described.features,
        described.probabilities,
        early_gradient_norms=np.stack(training.early_norms),
        correct_by_epoch=training.correct,
        validation=training.describe(other_rows) if len(other_rows) else None,
    )


def _read(language_model: "TrainableLM", task: Task, examples: Sequence[Example], most_tokens: int) -> _Rows:
    """Tokens of the rendered queries; too long a one keeps its end, where it is read from."""
    tokenizer = language_model.tokenizer
    tokens = tokenizer.encode_prefixes([(task.render_query(example.text),) for example in examples])
    for example, row in zip(examples, tokens, strict=True):
        if not row:
            raise InvalidDataset(
                f"row {example.row} has no tokens when rendered; give it a text", field="text", row=example.row
            )
    groups = np.array([task.label_indices[example.label] for example in examples], dtype=np.intp)
    leading = tokenizer.leading_tokens
    return _Rows([_keep_end(row, len(leading), most_tokens) for row in tokens], groups)


def _keep_end(row: Tokens, num_leading: int, most: int) -> Tokens:
    if len(row) <= most:
        return row
    num_leading = min(num_leading, most - 1)
    return row[:num_leading] + row[len(row) - (most - num_leading) :]


def _rows_to_read(num_rows: int, num_other: int, options: FineTuningOptions) -> int:
    """Trainings, early gradient norms of each, and the description at the end."""
    epochs = options.epochs + (options.early_runs - 1) * options.early_epochs
    return num_rows * (epochs + options.early_runs + 1) + num_other


def _train_all(
    classifier: LastTokenClassifier, rows: _Rows, options: FineTuningOptions, seed: int, pace: _Pace
) -> "_Training":
    """Every training from the same body with another head and order; only the last goes to the end."""
    early_norms = list[FloatArray]()
    short_runs = options.early_runs - 1
    start = {name: value.clone() for name, value in classifier.body.state_dict().items()} if short_runs else {}
    for run in reversed(range(options.early_runs)):
        if len(early_norms):
            classifier.body.load_state_dict(start)
        training = _Training(classifier, rows, options, seed, run, pace, early_norms)
        training.train(options.early_epochs if run else options.epochs)
    return training


@dataclass
class _Training:
    """One training of a classifier that is there already, in place."""

    classifier: LastTokenClassifier
    rows: _Rows
    options: FineTuningOptions
    seed: int
    run: int
    pace: _Pace
    early_norms: list[FloatArray]  #: one array for each run so far
    correct: NDArray[np.bool_] = field(init=False)  #: [epochs, rows]
    optimizer: torch.optim.Optimizer = field(init=False)
    step: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        rng = make_generator(self.seed, "fine-tuning", self.run)
        torch.manual_seed(int(rng.integers(2**63)))  # for dropout; the caller has put a fence around it
        self.classifier.restart_head(torch.Generator().manual_seed(int(rng.integers(2**63))))
        self.correct = np.zeros((self.options.epochs, len(self.rows)), dtype=np.bool_)
        self.optimizer = _make_optimizer(self.classifier, self.options)

    def train(self, epochs: int) -> None:
        for epoch in range(epochs):
            self._take_early_norms(epoch)
            self._train_epoch(epoch)
        self._take_early_norms(epochs)
        self.optimizer.zero_grad()

    def describe(self, rows: _Rows) -> LabelledRows:
        described = self.classifier.describe(rows.tokens, rows.groups, self.options.batch_size, self.pace.begin)
        self._check_finite(np.isfinite(described.probabilities).all())
        return described

    def _take_early_norms(self, epochs_done: int) -> None:
        if epochs_done == self.options.early_epochs:
            self.early_norms.append(self.describe(self.rows).gradients.norms)

    def _train_epoch(self, epoch: int) -> None:
        self.classifier.train()
        lengths = np.array([len(row) for row in self.rows.tokens], dtype=np.intp)
        rng = make_generator(self.seed, "fine-tuning", self.run, epoch)
        for batch in draw_batches(lengths, self.options.batch_size, rng):
            self.pace.begin(len(batch))
            self.correct[epoch, batch] = self._train_batch(batch)

    def _train_batch(self, batch: IndexArray) -> NDArray[np.bool_]:
        """One step; returns which rows were classified right before it  # [batch]."""
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
        steps = self.options.epochs * count_batches(len(self.rows), self.options.batch_size)
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
    """Share of the highest learning rate at a step, from 0: up along a line, then down to 0."""
    warmup = round(steps * warmup_share)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return (steps - step) / max(steps - warmup, 1)
