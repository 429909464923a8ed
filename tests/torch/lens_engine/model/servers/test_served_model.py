"""A real model behind the double: the scores of the local scorer, and a comparison with the weights here."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lens_engine.errors import EndpointError
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.open_endpoint import open_endpoint
from lens_engine.opening import open_model
from lens_engine.testing import tiny_causal_lm
from tests.endpoints.double import MODEL, Double, ModelBehind, serving

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


def test_weights_here_are_compared_with(folder: Path, tmp_path: Path) -> None:
    behind = ModelBehind(open_model(str(folder), dtype="float32", pair_cache_bytes=None).scorer)  # type: ignore[arg-type]
    other = tiny_causal_lm("llama", seed=1).save(tmp_path / "other")
    with serving(Double(behind)) as double:
        endpoint = Endpoint("vllm", double.url, MODEL, weights=str(folder))
        scorer = open_endpoint(endpoint, cache_dir=tmp_path, answer_bytes=None)
        scorer.close()
        assert "the weights here differ by" in (scorer.identity.executor_note or "")
        with pytest.raises(EndpointError, match="check: weights"):
            open_endpoint(replace(endpoint, weights=str(other)), cache_dir=tmp_path, answer_bytes=None)
