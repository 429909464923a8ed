"""Surroundings: what they tell, and the workspace of cuBLAS, which is one of them."""

import os
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from lens_engine.config import BudgetOptions
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import SilentListener
from lens_engine.model import limits
from lens_engine.model.limits import interrupted_by, look_up
from lens_engine.model.local.load import scorer_from_model
from lens_engine.model.local.scorer import CausalLMScorer
from lens_engine.model.local.torch_choices import CUBLAS_WORKSPACE, describe_surroundings, fix_cublas_workspace
from lens_engine.types import StopReason
from tests.tiny_models import tiny_causal_lm

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")


def test_surroundings_of_a_gpu_tell_its_libraries_and_its_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SimpleNamespace(name="NVIDIA H200", multi_processor_count=132, total_memory=150_000_000_000)
    gpus = {"cuda": whole, "cuda:1": SimpleNamespace(**vars(whole) | {"multi_processor_count": 16})}
    monkeypatch.setattr(torch.cuda, "get_device_properties", gpus.__getitem__)
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 91002)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

    told = describe_surroundings("cuda")

    assert told[5:] == (
        f"cuda {torch.version.cuda}",
        "cudnn 91002",
        "cublas workspace :4096:8",
        "16-bit sums fp16 True bf16 True",
        "GPU NVIDIA H200",
        "multiprocessors 132",
        "memory 150000000000 bytes",
    )
    assert set(describe_surroundings("cuda:1")) ^ set(told) == {"multiprocessors 132", "multiprocessors 16"}


def test_loaded_model_knows_its_surroundings() -> None:
    assert tiny_causal_lm("llama").scorer("plain").surroundings == describe_surroundings("cpu")


def test_threads_and_the_precision_of_products_change_the_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    told, products = describe_surroundings("cpu"), torch.backends.cuda.matmul
    with monkeypatch.context() as patch:
        patch.setattr(torch, "get_num_threads", lambda: 1000)
        assert describe_surroundings("cpu") != told
    before, products.fp32_precision = products.fp32_precision, "tf32"
    try:
        assert describe_surroundings("cpu") != told
    finally:
        products.fp32_precision = before


def test_workspace_of_cublas_is_fixed_for_gpus_unless_somebody_chose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CUBLAS_WORKSPACE, ":16:8")
    fix_cublas_workspace(CUDA)
    assert os.environ[CUBLAS_WORKSPACE] == ":16:8"
    monkeypatch.delenv(CUBLAS_WORKSPACE)
    fix_cublas_workspace(CPU)
    assert CUBLAS_WORKSPACE not in os.environ
    fix_cublas_workspace(CUDA)
    assert os.environ[CUBLAS_WORKSPACE] == ":4096:8"


class Ended(Exception):
    pass


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> CausalLMScorer:
    monkeypatch.setattr(limits, "_SECONDS", 0.0)
    tiny = tiny_causal_lm("llama")
    return scorer_from_model(tiny.model, tiny.tokenizer)


def end_after(looks: int) -> Callable[[], None]:
    """Raises at this look, counted from 1."""
    left = iter(range(looks - 1))

    def look() -> None:
        if next(left, None) is None:
            raise Ended

    return look


@pytest.mark.parametrize("looks", [1, 2])
def test_forward_ends_between_two_layers_and_the_next_call_is_right(scorer: CausalLMScorer, looks: int) -> None:
    call = ([("one two",), ()], ["three", "four five"], [" a", " b"])
    expected = scorer.score(*call)

    with interrupted_by(end_after(looks)), pytest.raises(Ended):
        scorer.score(*call)
    with interrupted_by(end_after(looks)), pytest.raises(Ended):
        scorer.states((), ["three"], (2,))

    assert (scorer.score(*call) == expected).all()


def test_nobody_is_asked_outside_the_context() -> None:
    with interrupted_by(end_after(1)):
        pass
    look_up()


class Stopping(SilentListener):
    """Asks for a stop once a forward has begun."""

    looks = 0

    def stop_requested(self) -> StopReason | None:
        self.looks += 1
        return StopReason.CANCELLED if self.looks > 1 else None


@pytest.mark.parametrize("reads_states", [False, True])
def test_listener_stops_a_run_within_one_forward(scorer: CausalLMScorer, reads_states: bool) -> None:
    meter = Meter(scorer, (" a", " b"), Stopping(), BudgetOptions(), planned=Cost(1, 10))

    with pytest.raises(Stopped) as stopped:
        meter.states((), ["one"], (1,)) if reads_states else meter.score([()], ["one"])

    assert stopped.value.reason is StopReason.CANCELLED
    assert meter.spent == Cost()
