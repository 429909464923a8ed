"""A real model behind the double: the scores of the local scorer."""

from pathlib import Path

import numpy as np
import pytest

from lens_engine.model.servers.address import Endpoint
from lens_engine.opening import open_model
from tests.endpoints.double import MODEL, Double, ModelBehind, serving
from tests.tiny_models import tiny_causal_lm

PREFIXES = [(), ("It was great.\n", "good bad good.\n")]
QUERIES = [f"text {number} It was" for number in range(24)]
SPANS = [" great", " terrible", " terrific"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal_lm("llama").save(tmp_path_factory.mktemp("weights"))


@pytest.mark.parametrize("reads_tokenizer", [True, False])
def test_scores_are_those_of_the_model_here(folder: Path, tmp_path: Path, reads_tokenizer: bool) -> None:
    local = open_model(str(folder), dtype="float32", pair_cache_bytes=None).scorer
    with serving(Double(ModelBehind(local))) as double:  # type: ignore[arg-type]
        tokenizer = str(folder) if reads_tokenizer else None
        served = open_model(Endpoint("vllm", double.url, MODEL, tokenizer=tokenizer), cache_dir=tmp_path)
        found = served.scorer.score(PREFIXES, QUERIES, SPANS)
        served.scorer.close()  # type: ignore[attr-defined]
    right = local.score(PREFIXES, QUERIES, SPANS)
    assert np.abs(found - right).max() < 1e-5 * np.abs(right).max()
