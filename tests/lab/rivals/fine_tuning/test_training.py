"""What a training does at each step, and when an example counts as presented."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lab.rivals.fine_tuning.classifier import LastTokenClassifier, draw_batches
from lab.rivals.fine_tuning.evidence import Evidence, TuningRows
from lab.rivals.fine_tuning.fine_tune import fine_tune
from lab.rivals.fine_tuning.trainable import TrainableLM, trainable_from_model
from lab.rivals.fine_tuning.training import FineTuningOptions
from lens_engine.randomness import make_generator
from lens_engine.task.template import Task
from lens_engine.testing import TinyArchitecture, tiny_causal_lm
from lens_engine.types import Example

LABELS = ("negative", "positive")


def make_lm(architecture: TinyArchitecture = "llama") -> TrainableLM:
    tiny = tiny_causal_lm(architecture)
    return trainable_from_model(tiny.model, tiny.tokenizer)


def make_pool(count: int) -> list[Example]:
    """Labels that no word tells, so that some rows are wrong for long."""
    labels = np.random.default_rng(0).integers(2, size=count)
    return [Example(row, f"{row % 7} good {row % 5}" + " bad" * (row % 3), LABELS[labels[row]]) for row in range(count)]


def make_options(**given: Any) -> FineTuningOptions:
    return FineTuningOptions(**({"epochs": 2, "batch_size": 8} | given))


def train(task: Task, lm: TrainableLM, options: FineTuningOptions, num_rows: int = 40) -> Evidence:
    return fine_tune(lm, TuningRows(task, make_pool(num_rows), seed=4), options, lambda *_: None)


def test_dropout_is_at_work_in_training_alone(task: Task) -> None:
    """Two epochs of two batches, early norms after the first, and the description at the end."""
    lm = make_lm("gpt2")
    was_training: list[bool] = []
    lm.body.register_forward_hook(lambda module, _inputs, _output: was_training.append(module.training))

    train(task, lm, make_options(), num_rows=16)

    assert was_training == [True, True, False, False, True, True, False, False]


class PlainTraining:
    """The same from the formulas of AdamW (Loshchilov & Hutter, 2019): one row at a time, no padding, no autograd
    optimizer. A parameter of one dimension does not decay."""

    def __init__(self, task: Task, options: FineTuningOptions, num_rows: int) -> None:
        pool, lm = make_pool(num_rows), make_lm()
        self.options = options
        self.tokens = lm.tokenizer.encode_prefixes([(task.render_query(example.text),) for example in pool])
        self.groups = [task.label_indices[example.label] for example in pool]
        rng = make_generator(4, "fine-tuning", 0)
        rng.integers(2**63)  # dropout's
        self.classifier = LastTokenClassifier(lm.body, 2)
        self.classifier.restart_head(torch.Generator().manual_seed(int(rng.integers(2**63))))
        self.parameters = list(self.classifier.parameters())
        self.moments = [(torch.zeros_like(parameter), torch.zeros_like(parameter)) for parameter in self.parameters]
        self.correct = np.zeros((options.epochs, num_rows), dtype=np.bool_)
        self.gradient_norms: list[float] = []

    def run(self, rates: Sequence[float]) -> None:
        lengths = np.array([len(row) for row in self.tokens])
        for epoch in range(self.options.epochs):
            rng = make_generator(4, "fine-tuning", 0, epoch)
            for batch in draw_batches(lengths, self.options.batch_size, rng):
                self._step(epoch, batch.tolist(), rates[len(self.gradient_norms)])

    def features(self) -> NDArray[np.float64]:
        with torch.no_grad():
            return np.stack([self.classifier.pool([row])[0].double().numpy() for row in self.tokens])

    def _step(self, epoch: int, batch: list[int], rate: float) -> None:
        logits = torch.cat([self.classifier([self.tokens[row]]) for row in batch])
        gold = [self.groups[row] for row in batch]
        self.correct[epoch, batch] = (logits.argmax(dim=1) == torch.tensor(gold)).numpy()
        loss = -torch.log_softmax(logits, dim=1)[range(len(batch)), gold].mean()
        gradients = torch.autograd.grad(loss, self.parameters)
        norm = float(sum((gradient**2).sum() for gradient in gradients) ** 0.5)
        self.gradient_norms.append(norm)
        share = min(self.options.max_gradient_norm / norm, 1.0)
        for parameter, gradient, moments in zip(self.parameters, gradients, self.moments, strict=True):
            self._move(parameter, gradient * share, moments, rate)

    @torch.no_grad()
    def _move(self, parameter: Any, gradient: Any, moments: tuple[Any, Any], rate: float) -> None:
        first, second = moments
        count = len(self.gradient_norms)
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient**2 - second)
        direction = first / (1 - 0.9**count) / ((second / (1 - 0.999**count)).sqrt() + 1e-8)
        decay = self.options.weight_decay if parameter.ndim > 1 else 0.0
        parameter -= rate * (direction + decay * parameter)


def test_training_is_adamw_written_out(task: Task) -> None:
    """Clipping touches some steps and not others, the rate rises and falls, and decay is strong enough to show."""
    options = make_options(learning_rate=1e-2, warmup_share=0.3, weight_decay=0.5, max_gradient_norm=0.7)
    plain = PlainTraining(task, options, 40)
    plain.run([1e-2 * share for share in (1 / 4, 2 / 4, 3 / 4, 1, 6 / 7, 5 / 7, 4 / 7, 3 / 7, 2 / 7, 1 / 7)])

    evidence = train(task, make_lm(), options)

    assert min(plain.gradient_norms) < 0.7 < max(plain.gradient_norms)
    np.testing.assert_allclose(evidence.features, plain.features(), rtol=2e-3, atol=2e-3)
    np.testing.assert_array_equal(evidence.correct_by_epoch, plain.correct)
    assert 0.2 < evidence.correct_by_epoch.mean() < 0.8
