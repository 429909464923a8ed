"""The real llama-server says what Lens computes: what every test of a client of it stands on."""

from typing import Any

import httpx
import pytest

from lens_engine.language_model.loading.load import load_scorer
from lens_engine.language_model.loading.model_files import BUNDLED_MODEL
from lens_engine.language_model.open_tokenizer import open_tokenizer
from lens_engine.types import LabelLogProbs
from tests.llama_server.server import LlamaServer

pytestmark = pytest.mark.model

PREFIX = ("Sharp, funny and warm. It was great.\n", "Two hours that I will not get back. It was terrible.\n")
QUERIES = ["I loved every minute of it. It was", "Dull. It was"]
LIKELY, RARE = [" great", " terrible", " fine"], " photosynthesis"


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    tokenizer = open_tokenizer(BUNDLED_MODEL).tokenizer
    [prefix] = tokenizer.encode_prefixes([PREFIX])
    return [[*prefix, *query] for query in tokenizer.encode_queries(QUERIES, is_first=False)]


@pytest.fixture(scope="module")
def label_tokens() -> list[int]:
    return [token for (token,) in open_tokenizer(BUNDLED_MODEL).tokenizer.encode_spans([*LIKELY, RARE])]


@pytest.fixture(scope="module")
def local() -> LabelLogProbs:
    scorer = load_scorer(BUNDLED_MODEL, dtype="float32", device="cpu")
    label_log_probs: LabelLogProbs = scorer.score([PREFIX], QUERIES, [*LIKELY, RARE])[0]  # [queries, labels]
    return label_log_probs


def ask(server: LlamaServer, prompt: list[int], **changes: Any) -> dict[str, Any]:
    body = {"prompt": prompt, "n_predict": 1, "n_probs": 1000, "temperature": 0, "cache_prompt": True, **changes}
    answer = httpx.post(f"{server.url}/completion", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_likely_labels_have_the_local_log_probabilities(
    llama_server: LlamaServer, prompts: list[list[int]], label_tokens: list[int], local: LabelLogProbs
) -> None:
    for prompt, expected in zip(prompts, local, strict=True):
        [place] = ask(llama_server, prompt)["completion_probabilities"]
        log_probs = {token["id"]: token["logprob"] for token in place["top_logprobs"]}
        assert [log_probs[token] for token in label_tokens[:-1]] == pytest.approx(expected[:-1], rel=0, abs=1e-3)


def test_label_beyond_the_thousand_is_read_raw_under_a_bias(
    llama_server: LlamaServer, prompts: list[list[int]], label_tokens: list[int], local: LabelLogProbs
) -> None:
    rare = label_tokens[-1]
    for prompt, expected in zip(prompts, local, strict=True):
        [place] = ask(llama_server, prompt, logit_bias=[[rare, 1000]])["completion_probabilities"]
        assert rare not in {token["id"] for token in place["top_logprobs"]}
        assert (place["id"], place["logprob"]) == (rare, pytest.approx(expected[-1], rel=0, abs=1e-3))


def test_repeated_prompt_is_read_from_the_server_s_cache(llama_server: LlamaServer) -> None:
    prompt = list(range(1000, 1100))
    cold = ask(llama_server, prompt, id_slot=0)
    warm = ask(llama_server, [*prompt, 5], id_slot=0)
    assert (cold["tokens_evaluated"], warm["tokens_evaluated"]) == (100, 101)
    assert (cold["timings"]["cache_n"], warm["timings"]["cache_n"]) == (0, 100)
