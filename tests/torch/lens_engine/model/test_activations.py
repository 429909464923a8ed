"""Activations are replaced by the same formula, for every executor."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers.activations import NewGELUActivation

from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.model_reader import fuse_activations
from tests.tiny_models import TinyArchitecture, tiny_causal_lm

PREFIXES = [(), ("a fine film. It was great.\n", "dull. It was terrible.\n")]
QUERIES = ["short. It was", "a much longer review. It was"]
SPANS = [" great", " terrible", " great fun"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))


def activations(model: torch.nn.Module) -> set[str]:
    return {type(module).__name__ for module in model.modules()} & {"NewGELUActivation", "GELU"}


def test_formula_is_the_same() -> None:
    values = torch.linspace(-12, 12, 100_001, dtype=torch.float64)
    fused = functional.gelu(values, approximate="tanh")
    torch.testing.assert_close(fused, NewGELUActivation()(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("architecture", "layers"), [("gpt2", 2), ("gpt_neo", 2), ("llama", 0)])
def test_activations_of_all_layers_are_replaced(architecture: TinyArchitecture, layers: int) -> None:
    model = tiny_causal_lm(architecture).model
    assert fuse_activations(model) == layers
    assert activations(model) == ({"GELU"} if layers else set())
    assert fuse_activations(model) == 0


@pytest.mark.parametrize("executor", ["packed", "cached", "plain"])
def test_loaded_model_scores_as_with_its_own_activation(tmp_path: Path, executor: str) -> None:
    tiny = tiny_causal_lm("gpt2")
    assert activations(tiny.model) == {"NewGELUActivation"}
    own = tiny.scorer(executor).score(PREFIXES, QUERIES, SPANS)

    scorer: Any = load_scorer(str(tiny.save(tmp_path / "model")), dtype="float32", device="cpu", executor=executor)

    assert activations(scorer._executor._model) == {"GELU"}
    np.testing.assert_allclose(scorer.score(PREFIXES, QUERIES, SPANS), own, rtol=0, atol=1e-5)
