"""When a 16-bit model is also looked at in float32, and what becomes of it when memory is too small for that."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from lens_engine.errors import OutOfMemory
from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.memory import has_room_in_float32
from lens_engine.model.local.model_files import count_weights
from tests.tiny_models import tiny_causal_lm

CUDA, CPU = torch.device("cuda"), torch.device("cpu")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_causal_lm("llama").save(tmp_path / "model")


def number_of_weights() -> int:
    return sum(weights.numel() for weights in tiny_causal_lm("llama").model.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shard", ["1GB", "20KB"])
def test_weights_are_counted_in_every_format_and_file_once(tmp_path: Path, dtype: torch.dtype, shard: str) -> None:
    tiny_causal_lm("llama").model.to(dtype).save_pretrained(tmp_path, max_shard_size=shard)
    assert (len(list(tmp_path.glob("*.safetensors"))) > 1) == (shard == "20KB")
    assert count_weights(tmp_path) == number_of_weights()
    save_file({"w": torch.zeros(10)}, tmp_path / "consolidated.safetensors")  # a copy in another layout
    assert count_weights(tmp_path) == number_of_weights()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("spare", "fits"), [(0, True), (-8, False)])
def test_gpu_must_have_twice_the_room_of_the_weights_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, spare: int, fits: bool
) -> None:
    tiny_causal_lm("llama").model.to(dtype).save_pretrained(tmp_path)
    free = 2 * 4 * number_of_weights() + spare  # bytes
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, 80 << 30))
    assert has_room_in_float32(tmp_path, CUDA) == fits


@pytest.mark.parametrize(("rows", "fits"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_processors_check_up_to_4_gib_in_float32(tmp_path: Path, rows: int, fits: bool) -> None:
    """The file is that of a 16-bit model; its data are a hole, which takes no space on the disk."""
    header = f'{{"w":{{"dtype":"BF16","shape":[{rows},1024],"data_offsets":[0,{rows * 2048}]}}}}'.encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + rows * 2048)
    assert has_room_in_float32(tmp_path, CPU) == fits


@pytest.fixture
def no_room_for_float32(monkeypatch: pytest.MonkeyPatch) -> list[torch.dtype]:
    """Loading in float32 runs out of memory; returns the formats that were asked for."""
    asked = list[torch.dtype]()
    load: Callable[..., Any] = AutoModelForCausalLM.from_pretrained

    def from_pretrained(*given: Any, dtype: torch.dtype, **named: Any) -> Any:
        asked.append(dtype)
        if dtype == torch.float32:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return load(*given, dtype=dtype, **named)

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", from_pretrained)
    return asked


def test_model_without_room_is_checked_in_its_own_format(folder: Path, no_room_for_float32: list[torch.dtype]) -> None:
    scorer = load_scorer(str(folder), dtype="bfloat16", device="cpu")

    assert no_room_for_float32 == [torch.float32, torch.bfloat16]
    assert (scorer.identity.dtype, scorer.identity.executor) == ("bfloat16", "packed")
    assert np.isfinite(scorer.score([()], ["It was"], [" great"])).all()


def test_model_asked_in_float32_says_that_memory_ran_out(folder: Path, no_room_for_float32: list[torch.dtype]) -> None:
    with pytest.raises(OutOfMemory, match="'model' cannot be loaded: CUDA out of memory"):
        load_scorer(str(folder), dtype="float32", device="cpu")
    assert no_room_for_float32 == [torch.float32]
