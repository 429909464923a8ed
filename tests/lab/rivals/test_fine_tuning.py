"""Fine-tuning a tiny model: what it learns, what it repeats, and its steps against formulas."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from torch.nn import functional

from lab.rivals.evidence import Evidence
from lab.rivals.fine_tuning import FineTunedModel, FineTuningOptions, TrainableLM, fine_tune, repeatable_training
from lab.rivals.last_token import LastTokenClassifier, TokenRows
from lens_engine.errors import InvalidDataset, ModelError
from lens_engine.model.local.torch_choices import fix_cublas_workspace
from lens_engine.prompt.template import Task
from lens_engine.types import Example
from tests.tiny_models import TINY_ARCHITECTURES, TinyArchitecture, tiny_causal_lm

LABELS = ("negative", "positive")
ROWS = [(5, 9, 11, 40, 3, 8), (7,), (12, 13, 90), (5, 9, 11)]


def make_lm(architecture: TinyArchitecture = "llama") -> TrainableLM:
    tiny = tiny_causal_lm(architecture)
    return TrainableLM.of(tiny.model, tiny.tokenizer)


def make_pool(count: int = 48, first_row: int = 0) -> list[Example]:
    """Examples whose label is told by one word, among others that tell nothing."""
    rows = range(first_row, first_row + count)
    return [Example(row, f"{row % 7} {('bad', 'good')[row % 2]} {row % 5}", LABELS[row % 2]) for row in rows]


def run(
    task: Task,
    pool: list[Example] | None = None,
    *,
    lm: TrainableLM | None = None,
    validation: Sequence[Example] = (),
    seed: int = 0,
    **given: Any,
) -> Evidence:
    options = FineTuningOptions(**({"batch_size": 8, "learning_rate": 3e-3} | given))
    return fine_tune(lm or make_lm(), task, make_pool() if pool is None else pool, validation, seed, options)


def test_a_separable_task_is_learnt(task: Task) -> None:
    evidence = run(task, validation=make_pool(10, first_row=48))
    assert evidence.validation is not None
    for rows in (evidence, evidence.validation):
        assert (rows.probabilities.argmax(axis=1) == rows.groups).mean() > 0.9
    assert evidence.correct_by_epoch[-1].mean() > evidence.correct_by_epoch[0].mean()


@pytest.mark.gpu
def test_one_seed_gives_the_same_numbers_on_a_gpu(task: Task) -> None:
    fix_cublas_workspace(torch.device("cuda"))
    lms = [make_lm("gpt2") for _ in range(2)]
    for lm in lms:
        lm.body.cuda()
    first, again = (run(task, lm=lm, epochs=2) for lm in lms)
    np.testing.assert_array_equal(first.features, again.features)


def test_one_seed_gives_the_same_numbers_in_spite_of_dropout(task: Task) -> None:
    found = []
    for seed, tuning_seed in ((1, 4), (2, 4), (2, 5)):
        torch.manual_seed(seed)
        found.append(run(task, lm=make_lm("gpt2"), epochs=2, seed=tuning_seed))
        after = torch.rand(1)
        torch.manual_seed(seed)
        assert torch.equal(torch.rand(1), after)  # the caller's random state is left alone
    first, again, other = found
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.correct_by_epoch, again.correct_by_epoch)
    assert not np.array_equal(first.features, other.features)


def test_long_query_keeps_the_leading_special_tokens(task: Task) -> None:
    tiny = tiny_causal_lm("llama")
    tiny.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", 0)]
    )
    lm = TrainableLM.of(tiny.model, tiny.tokenizer)
    evidence = run(task, make_pool(2), lm=lm, epochs=1, max_tokens=5, learning_rate=1e-12)
    (tokens,) = lm.tokenizer.encode_prefixes([(task.render_query(make_pool(2)[0].text),)])
    with torch.no_grad():
        expected = lm.body(torch.tensor([(0, *tokens[-4:])])).last_hidden_state[0, -1]
    np.testing.assert_allclose(evidence.features[0], expected.numpy(), rtol=1e-4, atol=1e-5)


def test_model_is_loaded_for_training_in_float32(task: Task, tmp_path: Path) -> None:
    tiny = tiny_causal_lm("llama")
    found = FineTunedModel(str(tiny.save(tmp_path / "tiny")), "cpu")(task, make_pool(4), (), 7)
    expected = fine_tune(make_lm(), task, make_pool(4), (), 7)
    np.testing.assert_allclose(found.features, expected.features, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (Example(9, "fair", "neutral"), "row 10 has the label 'neutral', which has no label word"),
        (Example(9, "", "negative"), "row 9 has no tokens"),
    ],
)
def test_row_that_cannot_be_trained_on_is_named(make_task: Callable[..., Task], example: Example, message: str) -> None:
    with pytest.raises(InvalidDataset, match=message) as caught:
        run(make_task(pattern="{text} {label}"), [Example(3, "good", "positive"), example])
    assert caught.value.row == 9


def test_a_training_that_diverges_is_refused(task: Task) -> None:
    lm = make_lm()
    with torch.no_grad():
        lm.body.embed_tokens.weight.fill_(torch.nan)
    with pytest.raises(ModelError, match="lower learning_rate"):
        run(task, lm=lm)


@pytest.mark.parametrize("architecture", TINY_ARCHITECTURES)
def test_pooling_takes_the_last_real_token_and_padding_changes_nothing(architecture: TinyArchitecture) -> None:
    classifier = LastTokenClassifier(make_lm(architecture).body, 3, 0).eval()
    with torch.no_grad():
        together = classifier.pool(ROWS)
        alone = [classifier.body(torch.tensor([row])).last_hidden_state[0, -1] for row in ROWS]
    torch.testing.assert_close(together, torch.stack(alone), rtol=1e-4, atol=1e-5)


def test_rows_are_described_in_order_with_the_gradients_of_autograd() -> None:
    classifier = LastTokenClassifier(make_lm().body, 3, 0).eval()
    groups = np.array([0, 1, 2, 1])
    described = classifier.describe(TokenRows(ROWS, groups), 3)
    for index, row in enumerate(ROWS):
        logits = classifier([row])
        loss = functional.cross_entropy(logits, torch.tensor([groups[index]]))
        (expected,) = torch.autograd.grad(loss, classifier.head.weight)
        found = np.outer(described.gradients.residuals[index], described.gradients.features[index])
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-3, atol=1e-5)
        shares = functional.softmax(logits, dim=1)[0].detach().numpy()
        np.testing.assert_allclose(described.probabilities[index], shares, rtol=1e-4, atol=1e-6)


CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")


def settings() -> dict[str, bool]:
    untyped: Any = torch  # its types lack some of these
    return {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "only warns": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fills": untyped.utils.deterministic.fill_uninitialized_memory,
        "flash": untyped.backends.cuda.flash_sdp_enabled(),
        "memory-efficient": untyped.backends.cuda.mem_efficient_sdp_enabled(),
        "cudnn": untyped.backends.cuda.cudnn_sdp_enabled(),
        "math": untyped.backends.cuda.math_sdp_enabled(),
    }


@pytest.fixture(params=[(False, False), (True, False), (True, True)])
def before(request: pytest.FixtureRequest) -> Iterator[dict[str, bool]]:
    """Settings of the caller, whatever they are."""
    is_on, warns = request.param
    torch.use_deterministic_algorithms(is_on, warn_only=warns)
    yield settings()
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("device", [CPU, CUDA])
def test_settings_hold_inside_and_are_restored_after_an_error(device: torch.device, before: dict[str, bool]) -> None:
    with suppress(ZeroDivisionError), repeatable_training(device):
        inside = settings()
        raise ZeroDivisionError

    on = {"deterministic": True, "only warns": True, "fills": False}
    plain_attention = {"flash": False, "memory-efficient": False, "cudnn": False, "math": True}
    assert inside == before | on | (plain_attention if device == CUDA else {})
    assert settings() == before
