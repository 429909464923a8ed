"""The server of llama.cpp: `/completion` with token ids, whose answer lists the most probable tokens.

A wanted token beyond the list is asked for alone, with a bias that makes it the answer; the log-probability of the
answer is the one before the bias. The OpenAI-compatible calls of this server give no log-probabilities of given tokens.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from lens_engine.errors import EndpointError
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.contract import Part, Parts, ReadBatch, ServerFacts
from lens_engine.model.servers.refusal import read_name
from lens_engine.model.servers.token_server import TokenServer, read_context, read_tokens
from lens_engine.model.servers.transport import Transport

_LISTED = 1000
"""Tokens of the list; it costs the server no more than one token does."""

_BIAS = 1000
_MOST_NAME = 1000
"""Characters of a model's name or path that are read."""


class LlamaCppServer(TokenServer):
    prompts_per_request = 8

    async def ask(self, batch: ReadBatch) -> list[Mapping[Part, float]]:
        found = await self._complete(batch.prefix, batch.prompts, n_probs=_LISTED)
        self.check_counts(batch, _count(found)["prompt_tokens"])
        reads = [self._pick(answer, batch.wanted) for answer in found]
        places = zip(batch.prompts, reads, strict=False)
        missing = [
            (prompt, values, token) for prompt, values in places for token in batch.wanted if token not in values
        ]
        alone = await asyncio.gather(*(self._ask_alone(batch.prefix, prompt, token) for prompt, _, token in missing))
        for (_, values, token), value in zip(missing, alone, strict=True):
            values[token] = value
        return [*reads]

    def _pick(self, answer: Mapping[str, Any], wanted: Parts) -> dict[Part, float]:
        listed = self._read(answer)["top_logprobs"]
        return {one["id"]: float(one["logprob"]) for one in listed if one["id"] in wanted}

    async def _ask_alone(self, prefix: Parts, prompt: Parts, token: Part) -> float:
        (answer,) = await self._complete(prefix, [prompt], n_probs=_LISTED, logit_bias=[[token, _BIAS]])
        read = self._read(answer)
        if read["id"] != token:
            raise EndpointError(
                f"{self._transport.where} does not honour logit_bias (check: rare tokens); take a newer llama.cpp"
            )
        return float(read["logprob"])

    async def _complete(self, prefix: Parts, prompts: list[Parts], **options: Any) -> list[dict[str, Any]]:
        """One answer for each prompt. Prompts of one prefix go to one slot of the server, which keeps its prefix."""
        number = int.from_bytes(hashlib.blake2b(repr(prefix).encode(), digest_size=4).digest())
        body = {
            "prompt": prompts,
            "n_predict": 1,
            "temperature": 0,
            "post_sampling_probs": False,
            "cache_prompt": True,
            "id_slot": number % self.facts.slots,
            **options,
        }
        tokens = sum(map(len, prompts))
        found = await self._transport.post("/completion", body, tokens=tokens, written=len(prompts), count=_count)
        answers = _list(found)
        for answer in answers:
            if str(answer.get("model"))[:_MOST_NAME] != self.facts.details["alias"]:
                raise EndpointError(
                    f"{self._transport.where} answers for another model than at connection (check: model)",
                    said=self._transport.clean(answer.get("model")),
                )
        return sorted(answers, key=lambda answer: int(answer.get("index") or 0))

    def _read(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        read: dict[str, Any] = (answer.get("completion_probabilities") or [{}])[0]
        if not {"top_logprobs", "logprob"} <= read.keys():
            raise EndpointError(
                f"{self._transport.where} gives no log-probabilities (check: values): it is another kind of server, or "
                "an old llama.cpp"
            )
        return read

    @staticmethod
    async def describe(endpoint: Endpoint, transport: Transport) -> ServerFacts:
        props = await transport.get("/props")
        alias, path = (str(props.get(name))[:_MOST_NAME] for name in ("model_alias", "model_path"))
        names = {alias, path, PurePath(path).name, PurePath(path).stem}
        if endpoint.model not in names:
            said = transport.clean(f"it has {PurePath(alias).name}")
            raise EndpointError(f"{transport.where} has no model {endpoint.model!r}", said=said)
        settings = props.get("default_generation_settings") or {}
        return ServerFacts(
            version=f"llama.cpp {read_name(props.get('build_info'))}",
            model=read_name(PurePath(path).name) or "",
            context=read_context(endpoint, settings.get("n_ctx"), transport.where),
            details={"alias": alias, "weights": read_name(props.get("model_ftype"))},
            number_format="float32" if props.get("model_ftype") == "all F32" else "unknown",
            slots=int(props.get("total_slots") or 1),
        )

    @staticmethod
    async def tokenise(endpoint: Endpoint, transport: Transport, text: str, special: bool) -> list[int]:  # noqa: ARG004
        body = {"content": text, "add_special": special, "parse_special": False}
        return read_tokens(await transport.post("/tokenize", body))


def _list(found: Any) -> list[dict[str, Any]]:
    """The answers to a list of prompts; a list of one has no list around its answer."""
    return found if isinstance(found, list) else [found]


def _count(found: Any) -> Mapping[str, Any]:
    answers = _list(found)
    return {
        "prompt_tokens": sum(int(answer.get("tokens_evaluated") or 0) for answer in answers),
        "completion_tokens": len(answers),
        "prompt_tokens_details": {
            "cached_tokens": sum(int((answer.get("timings") or {}).get("cache_n") or 0) for answer in answers)
        },
    }
