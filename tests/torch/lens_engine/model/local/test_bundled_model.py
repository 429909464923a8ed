import json

import numpy as np
import pytest
from safetensors import safe_open

from lens_engine.model.local.load import load_scorer
from lens_engine.model.local.model_files import find_token_counter
from lens_engine.model.local.model_reader import open_files, quiet_transformers
from lens_engine.model.local.scorer import CausalLMScorer

PREFIXES = [
    (),
    ("A moving film with a wonderful cast. It was great.\n",),
    ("Two hours that I will not get back. It was terrible.\n", "Sharp, funny and warm. It was great.\n"),
]
QUERIES = [
    "I loved every minute of it. It was",
    "The worst thing I have seen this year, and I have seen a lot. It was",
    "Dull. It was",
]
SPANS = [" great", " terrible", " not good", " not bad"]


@pytest.fixture(scope="module")
def packed() -> CausalLMScorer:
    return load_scorer("smollm2-135m-instruct", dtype="float32", device="cpu")


def test_packed_float32_scores_equal_plain_ones(packed: CausalLMScorer) -> None:
    plain = load_scorer("smollm2-135m-instruct", dtype="float32", device="cpu", executor="plain")

    label_log_probs = packed.score(PREFIXES, QUERIES, SPANS)

    assert packed.identity.executor == "packed"
    np.testing.assert_allclose(label_log_probs, plain.score(PREFIXES, QUERIES, SPANS), rtol=0, atol=1e-4)
    few_shot = label_log_probs[2, :, :2]
    assert few_shot[0, 0] > few_shot[0, 1], "it knows praise"


def test_tokens_that_are_counted_without_the_model_are_those_of_its_scorer(packed: CausalLMScorer) -> None:
    texts = ["It was great.", " great", "a  b\n\n", "", "<|im_start|>user 1234 naïve 日本"]

    count_tokens = find_token_counter("smollm2-135m-instruct")

    assert count_tokens is not None
    assert count_tokens(texts) == packed.count_tokens(texts)


def test_converted_folder_names_its_tied_weight_as_other_servers_read_it() -> None:
    with quiet_transformers():
        _, folder, _ = open_files("smollm2-135m-instruct", None)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    with safe_open(folder / "model.safetensors", "pt") as weights:
        names = set(weights.keys())
        embedding = weights.get_tensor("model.embed_tokens.weight")
    assert config["tie_word_embeddings"]
    assert "lm_head.weight" not in names
    assert embedding.shape == (config["vocab_size"], config["hidden_size"])
    assert embedding.abs().max() > 0
