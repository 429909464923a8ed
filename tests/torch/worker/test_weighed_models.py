"""The weights of the offered models, counted and checked before a worker starts."""

from collections.abc import Callable
from os import truncate
from pathlib import Path

import pytest

from tests.slow.worker.test_inspection import make
from tests.tiny_models import tiny_causal_lm
from worker.inspection import UnfitWorker, weigh_models


@pytest.mark.parametrize(("dtype", "num_bytes"), [("float32", 4), ("bfloat16", 2), ("auto", 2)])
def test_weights_of_a_model_are_counted_in_the_number_format(dtype: str, num_bytes: int, tmp_path: Path) -> None:
    tiny = tiny_causal_lm("llama")
    folder = tiny.save(tmp_path / "weights")
    settings = make(allowed_models={"ours": str(folder)}, default_model="ours", dtype=dtype, cache_dir=tmp_path / "c")

    stored = {name: weights.numel() for name, weights in tiny.model.state_dict().items()}
    tied = stored["lm_head.weight"] if tiny.model.config.tie_word_embeddings else 0
    assert weigh_models(settings) == {"ours": num_bytes * (sum(stored.values()) - tied)}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder: folder.rename(folder.with_name("elsewhere")), "is not a folder with a config.json"),
        (lambda folder: truncate(folder / "model.safetensors", 1000), "damaged or cut off"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer"),
    ],
)
def test_every_model_is_checked_and_named(spoil: Callable[[Path], object], reason: str, tmp_path: Path) -> None:
    good, bad = (tiny_causal_lm("gpt2").save(tmp_path / name) for name in ("good", "bad"))
    spoil(bad)
    settings = make(
        allowed_models={"good": str(good), "ours": str(bad)}, default_model="good", cache_dir=tmp_path / "c"
    )

    with pytest.raises(UnfitWorker, match=f"model 'ours' of LENS_ALLOWED_MODELS cannot be used here: .*{reason}"):
        weigh_models(settings)
