"""The kinds of servers: how each is met."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.servers import llama_cpp, vllm
from lens_engine.servers.address import Endpoint, EndpointKind
from lens_engine.servers.chat import ChatServer
from lens_engine.servers.contract import Server, ServerFacts
from lens_engine.servers.llama_cpp import LlamaCppServer
from lens_engine.servers.reads import in_form_of
from lens_engine.servers.sampled import SampledServer
from lens_engine.servers.server_tokenizer import ServerTokenizer
from lens_engine.servers.token_server import TokenServer, tokenize
from lens_engine.servers.transport import Transport
from lens_engine.servers.vllm import VllmServer

TokeniseAt = Callable[[Endpoint, Transport, str, bool], Awaitable[list[int]]]
Describe = Callable[[Endpoint, Transport], Coroutine[Any, Any, ServerFacts]]
Meet = Callable[[Endpoint, Transport, SegmentTokenizer | None, Path | None], Server]
"""Learn what a server says of itself. The tokenizer is that of its model; None to ask the server. The path is the cache
folder, as `cache_folder` takes it."""


def _meet_tokens(kind: type[TokenServer], describe: Describe, tokenise: TokeniseAt) -> Meet:
    """How a server that takes token ids is met."""

    async def ask(ask_one: Callable[..., Awaitable[Any]], endpoint: Endpoint, transport: Transport, *given: Any) -> Any:
        with in_form_of(endpoint.kind, transport.where):
            return await ask_one(endpoint, transport, *given)

    def meet(
        endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None, _cache_dir: Path | None
    ) -> Server:
        facts = transport.wait(transport.start(ask(describe, endpoint, transport)))
        tokenizer = tokenizer or ServerTokenizer(transport, partial(ask, tokenise, endpoint, transport))
        return kind(endpoint, transport, tokenizer, facts)

    return meet


def _meet_chat(
    endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None, cache_dir: Path | None
) -> Server:
    kind = SampledServer if endpoint.answers == "sampled" else ChatServer
    return kind(endpoint, transport, tokenizer, cache_dir)


MEET: Mapping[EndpointKind, Meet] = {
    "vllm": _meet_tokens(VllmServer, vllm.describe, tokenize),
    "llama-cpp": _meet_tokens(LlamaCppServer, llama_cpp.describe, llama_cpp.tokenize),
    "openai-chat": _meet_chat,
}
