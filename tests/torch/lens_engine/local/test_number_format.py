"""Which number format a model is loaded in when nobody says."""

from pathlib import Path
from typing import Any

import pytest
import torch

from lens_engine.errors import OutOfMemory
from lens_engine.local.load import load_scorer
from lens_engine.local.torch_choices import choose_dtype
from lens_engine.testing import tiny_causal_lm


@pytest.mark.parametrize(("has_units", "dtype"), [(True, "bfloat16"), (False, "float32")])
def test_processor_takes_bfloat16_where_it_has_units_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_units: bool, dtype: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: has_units)

    scorer = load_scorer(str(tiny_causal_lm("llama").save(tmp_path)), device="cpu")

    assert (scorer.identity.dtype, scorer.identity.executor) == (dtype, "packed")


def test_other_devices_take_float32() -> None:
    assert choose_dtype(torch.device("mps")) == torch.float32


@pytest.mark.gpu
def test_gpu_takes_bfloat16_where_it_has_units_for_it() -> None:
    has_units = torch.cuda.get_device_capability() >= (8, 0)
    assert (choose_dtype(torch.device("cuda")) == torch.bfloat16) == has_units


def test_gpu_without_room_for_its_first_call_is_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have taken the whole GPU; then already the first call of CUDA fails."""

    def fail(*_: Any) -> bool:
        raise torch.AcceleratorError("CUDA error: out of memory")

    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", fail)
    with pytest.raises(OutOfMemory, match="at the first look at the device"):
        load_scorer(str(tiny_causal_lm("llama").save(tmp_path)), device="cpu")
