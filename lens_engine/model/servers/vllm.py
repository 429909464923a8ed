"""vLLM from 0.30 on: `/v1/completions` with token ids, and `logprob_token_ids` for the wanted tokens.

Its answers name tokens as "token_id:17". Older versions ignore the field without a message; then keys are missing.
"""

from collections.abc import Mapping
from typing import Any

from lens_engine.errors import EndpointAway, EndpointError
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.contract import Part, ReadBatch, ServerFacts
from lens_engine.model.servers.refusal import read_name
from lens_engine.model.servers.token_server import TokenServer, read_context, read_tokens
from lens_engine.model.servers.transport import Transport

_MOST_TOKENS = 128
"""Largest number of `logprob_token_ids` of a request."""


class VllmServer(TokenServer):
    prompts_per_request = 16  # prompts of one prefix; each request costs the client some 2 ms

    async def ask(self, batch: ReadBatch) -> list[Mapping[Part, float]]:
        """As `TokenServer.ask`; more wanted tokens than a request may name take several requests."""
        found = await self._complete(batch, batch.wanted[:_MOST_TOKENS])
        for start in range(_MOST_TOKENS, len(batch.wanted), _MOST_TOKENS):
            more = await self._complete(batch, batch.wanted[start : start + _MOST_TOKENS])
            found = [one | another for one, another in zip(found, more, strict=False)]
        return [*found]

    async def _complete(self, batch: ReadBatch, wanted: tuple[Part, ...]) -> list[dict[Part, float]]:
        prompts = batch.prompts
        body = {
            "model": self._model,
            "prompt": prompts,
            "max_tokens": 1,
            "temperature": 0,
            "logprobs": 1,
            "logprob_token_ids": wanted,
            "return_tokens_as_token_ids": True,
        }
        answer: dict[str, Any] = await self._transport.post(
            "/v1/completions", body, tokens=sum(map(len, prompts)), written=len(prompts)
        )
        self._check_model(answer)
        self.check_counts(batch, (answer.get("usage") or {}).get("prompt_tokens"))
        choices = sorted(answer["choices"], key=lambda choice: choice["index"])
        if any(choice["logprobs"] is None for choice in choices):
            raise EndpointError(f"{self._transport.where} gives no log-probabilities (check: values)")
        tops = [choice["logprobs"]["top_logprobs"][0] for choice in choices]
        names = {_read_id(token): token for top in tops for token in top}
        return [{token: float(top[names[token]]) for token in wanted if names.get(token) in top} for top in tops]

    def _check_model(self, answer: Mapping[str, Any]) -> None:
        if answer.get("model") != self._model:
            raise EndpointError(
                f"{self._transport.where} answers for another model than {self._model!r}, which it was asked for "
                "(check: model)",
                said=self._transport.clean(answer.get("model")),
            )

    @staticmethod
    async def describe(endpoint: Endpoint, transport: Transport) -> ServerFacts:
        """As `TokenServer.describe`."""
        found = await _find_model(endpoint, transport)
        try:
            version = (await transport.get("/version")).get("version")
        except EndpointAway:
            raise
        except EndpointError:
            version = None  # a gateway may pass the calls of OpenAI's API only
        return ServerFacts(
            version=f"vllm {read_name(version)}",
            model=endpoint.model,
            context=read_context(endpoint, found.get("max_model_len"), transport.where),
            details={"root": read_name(found.get("root"))},
        )

    @staticmethod
    async def tokenise(endpoint: Endpoint, transport: Transport, text: str, special: bool) -> list[int]:
        """As `TokenServer.tokenise`."""
        body = {"model": endpoint.model, "prompt": text, "add_special_tokens": special}
        return read_tokens(await transport.post("/tokenize", body))


def _read_id(token: str) -> int | str:
    name, _, number = token.partition(":")
    return int(number) if name == "token_id" and number.isdigit() else token


async def _find_model(endpoint: Endpoint, transport: Transport) -> dict[str, Any]:
    """What the server says of the model; refuses one that it does not have by the names of those that it has."""
    models: list[dict[str, Any]] = (await transport.get("/v1/models")).get("data") or []
    for model in models:
        if model.get("id") == endpoint.model:
            return model
    names = ", ".join(sorted(str(one.get("id")) for one in models)) or "none"
    raise EndpointError(f"{transport.where} has no model {endpoint.model!r}", said=transport.clean(f"it has {names}"))
