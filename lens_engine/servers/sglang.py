"""SGLang: its own `/generate` with token ids, and `token_ids_logprob` for the wanted tokens.

By its documentation and source; it was tried against a double only.
"""

from collections.abc import Mapping
from typing import Any

from lens_engine.servers.address import Endpoint
from lens_engine.servers.contract import Part, ReadBatch, ServerFacts
from lens_engine.servers.server_words import read_name
from lens_engine.servers.token_server import TokenServer, find_model, read_context
from lens_engine.servers.transport import Transport

_DETAILS = {"weights": "model_path", "dtype": "dtype"}


class SglangServer(TokenServer):
    prompts_per_request = 16

    async def ask(self, batch: ReadBatch) -> list[Mapping[Part, float]]:
        """As `TokenServer.ask`."""
        prompts = batch.prompts
        body = {
            "input_ids": prompts,
            "sampling_params": {"max_new_tokens": 1, "temperature": 0},
            "return_logprob": True,
            "token_ids_logprob": [batch.wanted] * len(prompts),
        }
        answers: list[dict[str, Any]] = await self._transport.post(
            "/generate", body, tokens=sum(map(len, prompts)), written=len(prompts), count=_count
        )
        found = [answer["meta_info"]["output_token_ids_logprobs"][0] for answer in answers]
        self.check_counts(batch, _count(answers)["prompt_tokens"])
        return [{token: float(value) for value, token, *_ in reads if token in batch.wanted} for reads in found]


def _count(answers: list[dict[str, Any]]) -> Mapping[str, Any]:
    infos = [answer["meta_info"] for answer in answers]
    return {
        "prompt_tokens": sum(info["prompt_tokens"] for info in infos),
        "completion_tokens": sum(info["completion_tokens"] for info in infos),
        "prompt_tokens_details": {"cached_tokens": sum(info.get("cached_tokens") or 0 for info in infos)},
    }


async def describe(endpoint: Endpoint, transport: Transport) -> ServerFacts:
    """
    Raises:
        EndpointError: the server is no SGLang, or does not have the model.
    """
    model = await find_model(endpoint, transport)
    info = await transport.get("/get_server_info")
    return ServerFacts(
        version=f"sglang {read_name(info.get('version'))}",
        model=endpoint.model,
        context=read_context(endpoint, model.get("max_model_len"), transport.where),
        details={name: read_name(info.get(field)) for name, field in _DETAILS.items()},
        number_format=None if info.get("dtype") in (None, "auto") else read_name(info["dtype"]),
    )
