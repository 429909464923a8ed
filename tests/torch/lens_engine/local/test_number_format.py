"""Which number format a model is loaded in when nobody says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lens_engine.errors import OutOfMemory
from lens_engine.local import number_format
from lens_engine.local.load import load_scorer
from lens_engine.local.number_format import is_fit, rank_dtypes, time_on_gpu
from lens_engine.testing import tiny_causal_lm
from lens_engine.types import LabelLogProbs

SCORES: LabelLogProbs = np.array([[[-1.0, -2.0]]], np.float32)
CUDA, CPU = torch.device("cuda"), torch.device("cpu")
FAST, HALF, WIDE = torch.float32, torch.float16, torch.bfloat16


@pytest.mark.parametrize(
    ("device", "rates", "ranked"),
    [
        (CPU, {FAST: 70, WIDE: 400}, [WIDE, FAST]),
        (CPU, {FAST: 70, WIDE: 80}, [FAST, WIDE]),
        (CPU, {FAST: 70, WIDE: 10}, [FAST]),
        (CUDA, {FAST: 50, HALF: 700, WIDE: 790}, [HALF, WIDE, FAST]),
        (CUDA, {FAST: 50, HALF: 300, WIDE: 790}, [WIDE, FAST]),
    ],
)
def test_formats_are_tried_from_the_most_precise_of_the_fast(
    monkeypatch: pytest.MonkeyPatch, device: torch.device, rates: dict[torch.dtype, float], ranked: list[torch.dtype]
) -> None:
    monkeypatch.setattr(number_format, "_multiplications_per_second", lambda dtype, _: rates[dtype])
    assert rank_dtypes(device) == ranked


def test_ranked_formats_include_float32() -> None:
    assert torch.float32 in rank_dtypes(CPU)


class CountProducts(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten.mm.default
        return func(*args, **(kwargs or {}))


def test_gpu_is_timed_by_its_own_clock_over_many_products(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = list[str]()
    milliseconds = iter([50.0, 10.0, 20.0])

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.at = products.count

        def synchronize(self) -> None:
            waited.append("end")

        def elapsed_time(self, end: "Event") -> float:
            assert end.at - self.at == 10
            assert len(waited) == (self.at - 3) // 10 + 1, "the end is waited for before the clock is read"
            return next(milliseconds)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    with CountProducts() as products:
        seconds = time_on_gpu(torch.ones(4096, 4096, device="meta"))

    assert seconds == pytest.approx(0.020 / 10)
    assert products.count == 3 + 3 * 10


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_gpu_is_faster_in_16_bits_than_in_32() -> None:
    rates = [number_format._multiplications_per_second(dtype, CUDA) for dtype in (FAST, HALF, WIDE)]
    assert min(rates[1:]) > 2 * rates[0], "a GPU of the last years computes 16 bits several times as fast"
    assert rank_dtypes(CUDA)[0] != FAST


@pytest.mark.parametrize("rounding", [0.0, 0.5, -0.99])
def test_scores_moved_by_rounding_are_fit(rounding: float) -> None:
    assert is_fit(SCORES + np.float32(rounding), SCORES)


@pytest.mark.parametrize("damage", [1.5, -3.0, float("nan"), float("inf")])
def test_scores_that_are_not_the_models_are_unfit(damage: float) -> None:
    assert not is_fit(SCORES + np.float32(damage), SCORES)


def test_infinite_scores_are_unfit_without_a_reference_too() -> None:
    assert is_fit(SCORES, None)
    assert not is_fit(SCORES * np.float32("inf"), None)


def save(folder: Path, *, scale: float) -> str:
    """A model whose hidden states are `scale` times the usual on their way through a layer."""
    tiny = tiny_causal_lm("llama")
    layer: Any = tiny.model.model.layers[0].mlp
    with torch.no_grad():
        layer.up_proj.weight *= scale
        layer.down_proj.weight /= scale
    return str(tiny.save(folder))


@pytest.mark.parametrize(("scale", "dtype"), [(1.0, "float16"), (1e6, "float32")])
def test_model_that_overflows_a_format_gets_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: float, dtype: str
) -> None:
    rates = {torch.float32: 50.0, torch.float16: 700.0, torch.bfloat16: 10.0}
    monkeypatch.setattr(number_format, "_multiplications_per_second", lambda dtype, _: rates[dtype])
    monkeypatch.setattr("lens_engine.local.torch_choices.rank_dtypes", lambda _: rank_dtypes(CUDA))

    scorer = load_scorer(save(tmp_path / "model", scale=scale), device="cpu")

    assert (scorer.identity.dtype, scorer.identity.executor) == (dtype, "packed")


def test_gpu_without_room_for_a_product_is_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have taken the whole GPU; then already the first call of CUDA fails."""

    def fail(*_: Any) -> float:
        raise torch.AcceleratorError("CUDA error: out of memory")

    monkeypatch.setattr(number_format, "_multiplications_per_second", fail)
    with pytest.raises(OutOfMemory, match="while number formats were compared"):
        load_scorer(save(tmp_path / "model", scale=1.0), device="cpu")
