"""The kinds of servers: how each is met."""

from collections.abc import Callable, Mapping
from functools import partial

from lens_engine.scoring.endpoints import vllm
from lens_engine.scoring.endpoints.address import Endpoint, EndpointKind
from lens_engine.scoring.endpoints.chat import ChatServer
from lens_engine.scoring.endpoints.contract import Server
from lens_engine.scoring.endpoints.sampled import SampledServer
from lens_engine.scoring.endpoints.server_tokenizer import ServerTokenizer
from lens_engine.scoring.endpoints.transport import Transport
from lens_engine.scoring.tokenization import SegmentTokenizer

Meet = Callable[[Endpoint, Transport, SegmentTokenizer | None], Server]
"""Learn what a server says of itself. The tokenizer is that of its model; None to ask the server."""


def _meet_vllm(endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None) -> Server:
    facts = transport.wait(transport.start(vllm.describe(endpoint, transport)))
    tokenizer = tokenizer or ServerTokenizer(transport, partial(vllm.tokenize, endpoint, transport))
    return vllm.VllmServer(endpoint, transport, tokenizer, facts)


def _meet_chat(endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None) -> Server:
    kind = SampledServer if endpoint.answers == "sampled" else ChatServer
    return kind(endpoint, transport, tokenizer)


MEET: Mapping[EndpointKind, Meet] = {"vllm": _meet_vllm, "openai-chat": _meet_chat}
