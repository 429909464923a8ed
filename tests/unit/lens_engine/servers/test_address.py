"""Options of a model behind a server."""

from typing import Any

import pytest

from lens_engine.errors import InvalidConfig
from lens_engine.servers.address import Endpoint
from tests.endpoints.chat_double import MODEL


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("openai-chat", {"extra": {"top_logprobs": 1}}, "extra has top_logprobs, which Lens sets itself"),
        ("openai-chat", {"extra": {"api_key": "sk-1"}}, "extra has api_key, and a result shows extra"),
        ("openai-chat", {"extra": {"x": [{"Authorization": "sk-1"}]}}, "extra has Authorization, and a result"),
        ("openai-chat", {"extra": {"x": float("nan")}}, "extra is no JSON object"),
        ("openai-chat", {"answers": "text"}, "take probabilities or sampled"),
        ("vllm", {"answers": "sampled"}, "options of openai-chat alone"),
    ],
)
def test_options_of_an_endpoint_are_checked(kind: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said) as caught:
        Endpoint(kind, "http://localhost", MODEL, **given)
    assert "sk-1" not in str(caught.value)


def test_fields_that_only_look_like_keys_are_taken_and_not_shown() -> None:
    extra = {"prompt_cache_key": "lens", "max_completion_tokens": 1, "logit_bias": {"17": 1}}
    endpoint = Endpoint("openai-chat", "http://localhost", MODEL, extra=extra)
    assert "prompt_cache_key" not in repr(endpoint)
