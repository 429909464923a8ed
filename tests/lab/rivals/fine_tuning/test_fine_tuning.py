"""Fine-tuning a tiny model on a task that words alone decide."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from lab.rivals.fine_tuning.evidence import Evidence, TuningRows
from lab.rivals.fine_tuning.fine_tune import fine_tune
from lab.rivals.fine_tuning.trainable import TrainableLM, load_for_training, trainable_from_model
from lab.rivals.fine_tuning.training import FineTuningOptions
from lens_engine.errors import InvalidDataset, ModelError, OutOfMemory
from lens_engine.local.torch_choices import fix_cublas_workspace
from lens_engine.metering.meter import Stopped
from lens_engine.task.template import Task
from lens_engine.testing import TinyArchitecture, tiny_causal_lm
from lens_engine.types import Example, StopReason

LABELS = ("negative", "positive")
COUNT = 48


def make_lm(architecture: TinyArchitecture = "llama", **settings: Any) -> TrainableLM:
    tiny = tiny_causal_lm(architecture, **settings)
    return trainable_from_model(tiny.model, tiny.tokenizer)


def make_pool(count: int = COUNT, first_row: int = 0) -> list[Example]:
    """Examples whose label is told by one word, among others that tell nothing."""
    rows = range(first_row, first_row + count)
    return [Example(row, f"{row % 7} {('bad', 'good')[row % 2]} {row % 5}", LABELS[row % 2]) for row in rows]


def run(task: Task, pool: list[Example] | None = None, *, lm: TrainableLM | None = None, **given: Any) -> Evidence:
    rows = {name: given.pop(name) for name in ("validation", "seed") if name in given}
    on_batch = given.pop("on_batch", lambda *_: None)
    usual = {"batch_size": 8, "learning_rate": 3e-3}
    options = FineTuningOptions(**(usual | given))
    tuning_rows = TuningRows(task, make_pool() if pool is None else pool, **rows)
    return fine_tune(lm or make_lm(), tuning_rows, options, on_batch)


@pytest.fixture(scope="module")
def evidence(task: Task) -> Evidence:
    return run(task, validation=make_pool(10, first_row=COUNT))


def test_a_separable_task_is_learnt(evidence: Evidence) -> None:
    accuracy = (evidence.probabilities.argmax(axis=1) == evidence.groups).mean()
    assert accuracy > 0.9
    assert evidence.correct_by_epoch[-1].mean() > evidence.correct_by_epoch[0].mean()
    assert evidence.validation is not None
    assert (evidence.validation.probabilities.argmax(axis=1) == evidence.validation.groups).mean() > 0.9


def test_early_norms_are_those_after_the_first_epoch(task: Task) -> None:
    only, first = run(task, epochs=1, warmup_share=0.0), run(task, epochs=5)
    np.testing.assert_array_equal(only.early_gradient_norms, only.gradients.norms)
    assert not np.allclose(first.early_gradient_norms, first.gradients.norms, rtol=0.1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_one_seed_gives_the_same_numbers_on_a_gpu(task: Task) -> None:
    fix_cublas_workspace(torch.device("cuda"))
    models = [replace(make_lm("gpt2"), body=make_lm("gpt2").body.cuda()) for _ in range(2)]
    first, again = (run(task, lm=model, epochs=2) for model in models)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.early_gradient_norms, again.early_gradient_norms)


def test_one_seed_gives_the_same_numbers_in_spite_of_dropout(task: Task) -> None:
    torch.manual_seed(1)
    first = run(task, lm=make_lm("gpt2"), epochs=2, seed=4)
    torch.manual_seed(2)
    again = run(task, lm=make_lm("gpt2"), epochs=2, seed=4)
    other = run(task, lm=make_lm("gpt2"), epochs=2, seed=5)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.correct_by_epoch, again.correct_by_epoch)
    np.testing.assert_array_equal(first.early_gradient_norms, again.early_gradient_norms)
    assert not np.array_equal(first.features, other.features)


def test_training_that_a_listener_ends_was_deterministic_to_then(task: Task) -> None:
    was_deterministic = list[bool]()

    def listen(done: int, _total: int) -> None:
        was_deterministic.append(torch.are_deterministic_algorithms_enabled())
        if done:
            raise Stopped(StopReason.CANCELLED)

    with pytest.raises(Stopped):
        run(task, make_pool(16), epochs=1, on_batch=listen)

    assert was_deterministic == [True, True]
    assert not torch.are_deterministic_algorithms_enabled()


def test_the_callers_random_state_is_left_alone(task: Task) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    run(task, make_pool(8), lm=make_lm("gpt2"), epochs=1)
    assert torch.equal(torch.rand(1), expected)


def test_listener_hears_every_row_once_for_each_reading(task: Task) -> None:
    heard = list[tuple[int, int]]()
    run(
        task,
        make_pool(20),
        epochs=2,
        validation=make_pool(6),
        on_batch=lambda done, total: heard.append((done, total)),
    )
    total = 20 * (2 + 1 + 1) + 6  # epochs, early norms, the description; validation rows
    assert heard[0] == (0, total)
    assert heard[-1] == (total - 6, total)
    assert [done for done, _ in heard] == sorted({done for done, _ in heard})


def test_long_query_keeps_the_leading_special_tokens(task: Task) -> None:
    tiny = tiny_causal_lm("llama")
    tiny.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
    )
    lm = trainable_from_model(tiny.model, tiny.tokenizer)
    evidence = run(task, make_pool(2), lm=lm, epochs=1, max_tokens=5, learning_rate=1e-12)
    (tokens,) = lm.tokenizer.encode_prefixes([(task.render_query(make_pool(2)[0].text),)])
    with torch.no_grad():
        expected = lm.body(torch.tensor([(0, *tokens[-4:])])).last_hidden_state[0, -1]
    np.testing.assert_allclose(evidence.features[0], expected.numpy(), rtol=1e-4, atol=1e-5)


def test_model_reads_the_rendered_query(make_task: Callable[..., Task]) -> None:
    lm = make_lm()
    evidence = run(make_task(pattern="Say {text}? It was {label}!"), make_pool(2), lm=lm, epochs=1, learning_rate=1e-12)
    (tokens,) = lm.tokenizer.encode_prefixes([(f"Say {make_pool(2)[1].text}? It was",)])
    with torch.no_grad():
        expected = lm.body(torch.tensor([tokens])).last_hidden_state[0, -1]
    np.testing.assert_allclose(evidence.features[1], expected.numpy(), rtol=1e-4, atol=1e-5)


def test_model_is_loaded_for_training_in_float32(tmp_path: Any) -> None:
    tiny = tiny_causal_lm("llama")
    lm = load_for_training(str(tiny.save(tmp_path / "tiny")), device="cpu")
    assert lm.max_tokens == 512
    assert {weights.dtype for weights in lm.body.parameters()} == {torch.float32}
    assert torch.equal(lm.body.embed_tokens.weight, tiny.model.base_model.embed_tokens.weight)


def test_an_empty_pool_is_refused(task: Task) -> None:
    with pytest.raises(InvalidDataset, match="no example to fine-tune on"):
        run(task, [])


@pytest.mark.parametrize("given", ["pool", "validation"])
def test_a_label_that_is_not_the_tasks_is_refused_by_its_row(task: Task, given: str) -> None:
    rows = [Example(3, "good", "positive"), Example(9, "fair", "neutral")]
    with pytest.raises(InvalidDataset, match="row 9 has the label 'neutral', which has no label word") as caught:
        run(task, **{given: rows})
    assert caught.value.row == 9
    assert caught.value.field == "dataset.label"


def test_a_query_without_tokens_is_refused_by_its_row(make_task: Callable[..., Task]) -> None:
    pool = [Example(0, "good", "positive"), Example(7, "", "negative")]
    with pytest.raises(InvalidDataset, match="row 7 has no tokens") as caught:
        run(make_task(pattern="{text} {label}"), pool)
    assert caught.value.row == 7


def test_a_training_that_diverges_is_refused(task: Task) -> None:
    lm = make_lm()
    with torch.no_grad():
        lm.body.embed_tokens.weight.fill_(torch.nan)
    with pytest.raises(ModelError, match="lower learning_rate"):
        run(task, lm=lm)


def test_too_little_memory_is_told_with_the_mend(task: Task) -> None:
    def exhaust(_done: int, _total: int) -> None:
        raise torch.OutOfMemoryError("no memory")

    with pytest.raises(OutOfMemory, match="8 examples a batch; lower batch_size"):
        run(task, on_batch=exhaust)
