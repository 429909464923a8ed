"""Fine-tuning a tiny model on a task that words alone decide."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from experiments.rivals.fine_tuning.evidence import Evidence, TuningRows
from experiments.rivals.fine_tuning.fine_tune import fine_tune
from experiments.rivals.fine_tuning.options import FineTuningOptions
from lens_engine.errors import InvalidDataset, ModelError, OutOfMemory
from lens_engine.language_model.loading.load import TrainableLM, load_for_training, trainable_from_model
from lens_engine.language_model.repeatable import fix_cublas_workspace
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
    rest = {"on_batch": given.pop("on_batch")} if "on_batch" in given else {}
    usual = {"batch_size": 8, "learning_rate": 3e-3, "autocast": "float32"}
    options = FineTuningOptions(**(usual | given))
    tuning_rows = TuningRows(task, make_pool() if pool is None else pool, **rows)
    return fine_tune(lm or make_lm(), tuning_rows, options=options, **rest)


def loss_of(evidence: Evidence) -> float:
    gold = evidence.probabilities[np.arange(len(evidence)), evidence.groups]
    return float(-np.log(gold).mean())


@pytest.fixture(scope="module")
def evidence(task: Task) -> Evidence:
    return run(task, validation=make_pool(10, first_row=COUNT))


def test_a_separable_task_is_learnt(evidence: Evidence) -> None:
    accuracy = (evidence.probabilities.argmax(axis=1) == evidence.groups).mean()
    assert accuracy > 0.9
    assert evidence.correct_by_epoch[-1].mean() > evidence.correct_by_epoch[0].mean()


def test_what_was_learnt_holds_for_rows_not_trained_on(evidence: Evidence) -> None:
    assert evidence.validation is not None
    assert (evidence.validation.probabilities.argmax(axis=1) == evidence.validation.groups).mean() > 0.9


def test_loss_falls_with_epochs(evidence: Evidence, task: Task) -> None:
    assert loss_of(evidence) < loss_of(run(task, epochs=1)) < np.log(2) + 0.1


def test_shapes(evidence: Evidence) -> None:
    assert evidence.features.shape == (COUNT, 32)
    assert evidence.probabilities.shape == (COUNT, 2)
    assert evidence.correct_by_epoch.shape == (5, COUNT)
    assert evidence.early_gradient_norms.shape == (1, COUNT)
    assert evidence.validation is not None
    assert evidence.validation.features.shape == (10, 32)
    assert evidence.groups.tolist() == [row % 2 for row in range(COUNT)]


def test_no_validation_rows_no_evidence_of_them(task: Task) -> None:
    assert run(task, make_pool(8), epochs=1).validation is None


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])  # the second has dropout
def test_one_seed_gives_the_same_numbers(architecture: TinyArchitecture, task: Task) -> None:
    torch.manual_seed(1)
    first = run(task, lm=make_lm(architecture), epochs=2, seed=4)
    torch.manual_seed(2)
    again = run(task, lm=make_lm(architecture), epochs=2, seed=4)
    other = run(task, lm=make_lm(architecture), epochs=2, seed=5)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.correct_by_epoch, again.correct_by_epoch)
    np.testing.assert_array_equal(first.early_gradient_norms, again.early_gradient_norms)
    assert not np.array_equal(first.features, other.features)


@pytest.mark.parametrize("ends_early", [False, True])
def test_training_is_deterministic_and_the_callers_settings_are_left_alone(task: Task, ends_early: bool) -> None:
    was_deterministic = list[bool]()

    def listen(done: int, _total: int) -> None:
        was_deterministic.append(torch.are_deterministic_algorithms_enabled())
        if ends_early and done:
            raise Stopped(StopReason.CANCELLED)

    with suppress(Stopped):
        run(task, make_pool(16), epochs=1, on_batch=listen)

    assert was_deterministic == [True] * (2 if ends_early else 6)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card")
@pytest.mark.parametrize("autocast", ["float32", "bfloat16"])
def test_one_seed_gives_the_same_numbers_on_a_card(task: Task, autocast: str) -> None:
    fix_cublas_workspace(torch.device("cuda"))
    first, again = (
        run(task, lm=replace(make_lm("gpt2"), body=make_lm("gpt2").body.cuda()), epochs=2, autocast=autocast)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.early_gradient_norms, again.early_gradient_norms)


def test_the_callers_random_state_is_left_alone(task: Task) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    run(task, make_pool(8), lm=make_lm("gpt2"), epochs=1)
    assert torch.equal(torch.rand(1), expected)


def test_correctness_is_that_of_the_moment_an_example_is_presented(task: Task) -> None:
    """With a rate of almost nothing every epoch sees the model of the beginning, and so does the end."""
    evidence = run(task, learning_rate=1e-12, epochs=3)
    at_the_end = evidence.probabilities.argmax(axis=1) == evidence.groups
    np.testing.assert_array_equal(evidence.correct_by_epoch, np.tile(at_the_end, (3, 1)))


def test_early_norms_are_those_of_the_epoch_asked_for(task: Task) -> None:
    """After the last epoch they are the norms of the evidence itself; at the beginning they are not."""
    late = run(task, epochs=2, early_epochs=2)
    early = run(task, epochs=2, early_epochs=0)
    np.testing.assert_array_equal(late.features, early.features)
    np.testing.assert_array_equal(late.early_gradient_norms[0], late.gradients.norms)
    assert not np.allclose(early.early_gradient_norms[0], early.gradients.norms, rtol=0.1)


def test_more_early_runs_leave_the_main_training_as_it_is(task: Task) -> None:
    one, three = (run(task, epochs=2, early_runs=runs) for runs in (1, 3))
    assert three.early_gradient_norms.shape == (3, COUNT)
    np.testing.assert_array_equal(three.features, one.features)
    np.testing.assert_array_equal(three.early_gradient_norms[-1], one.early_gradient_norms[0])
    assert not np.allclose(three.early_gradient_norms[0], three.early_gradient_norms[1])


def test_each_early_run_has_a_head_of_its_own(task: Task) -> None:
    """Before the first epoch nothing else can differ."""
    first, second = run(task, epochs=1, early_epochs=0, early_runs=2).early_gradient_norms
    assert not np.allclose(first, second, rtol=0.01)


def test_listener_hears_every_row_once_for_each_reading(task: Task) -> None:
    heard = list[tuple[int, int]]()
    run(
        task,
        make_pool(20),
        epochs=2,
        early_runs=2,
        validation=make_pool(6),
        on_batch=lambda done, total: heard.append((done, total)),
    )
    total = 20 * (2 + 1 + 2 + 1) + 6  # epochs of both runs, early norms of both, the description; validation rows
    assert heard[0] == (0, total)
    assert heard[-1] == (total - 6, total)
    assert [done for done, _ in heard] == sorted({done for done, _ in heard})


def test_listener_may_stop_the_training(task: Task) -> None:
    def stop(done: int, _total: int) -> None:
        if done >= 16:
            raise Stopped(StopReason.CANCELLED)

    with pytest.raises(Stopped):
        run(task, on_batch=stop)


def test_long_query_keeps_its_end(task: Task) -> None:
    """Rows that differ only in what is cut off have equal features."""
    ends_alike = [Example(0, "good " * 9 + "and bad", "negative"), Example(1, "bad " * 9 + "and bad", "positive")]
    cut = run(task, ends_alike, epochs=1, max_tokens=7, learning_rate=1e-12)
    whole = run(task, ends_alike, epochs=1, learning_rate=1e-12)
    np.testing.assert_allclose(cut.features[0], cut.features[1])
    assert not np.allclose(whole.features[0], whole.features[1])


def test_query_is_no_longer_than_the_model_reads(task: Task) -> None:
    lm = make_lm()
    by_model = run(task, lm=replace(lm, max_tokens=5), epochs=1, learning_rate=1e-12)
    by_option = run(task, lm=lm, epochs=1, learning_rate=1e-12, max_tokens=5)
    whole = run(task, lm=lm, epochs=1, learning_rate=1e-12)
    np.testing.assert_allclose(by_model.features, by_option.features, rtol=1e-4, atol=1e-5)
    assert not np.allclose(by_model.features, whole.features, rtol=0.01)


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


def test_bfloat16_learns_it_too_by_other_numbers_and_says_so(evidence: Evidence, task: Task) -> None:
    mixed = run(task, autocast="bfloat16")
    assert (mixed.probabilities.argmax(axis=1) == mixed.groups).mean() > 0.9
    assert (evidence.dtype, mixed.dtype) == ("float32", "bfloat16")
    assert not np.allclose(evidence.features, mixed.features, rtol=1e-4)


def test_automatic_format_is_recorded_as_the_one_it_came_to(task: Task) -> None:
    """The format may differ from call to call where two are about as fast; the numbers are those of the one named."""
    chosen = run(task, make_pool(8), epochs=1, autocast="auto")
    assert chosen.dtype in ("float32", "bfloat16")
    again = run(task, make_pool(8), epochs=1, autocast=chosen.dtype)
    np.testing.assert_array_equal(chosen.features, again.features)


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
        run(task, lm=lm, early_epochs=1)


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("no memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_too_little_memory_is_told_with_the_mend(task: Task, error: Exception) -> None:
    def exhaust(_done: int, _total: int) -> None:
        raise error

    with pytest.raises(OutOfMemory, match="8 examples a batch; lower batch_size"):
        run(task, on_batch=exhaust)
