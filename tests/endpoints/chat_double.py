"""A server of chat completions with the 20 most probable tokens, over a model of a hash or a real one, and faults."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    pass

MODEL, DATED = "chatty", "chatty-2026-03-01"
_TOP = 20

Messages = Sequence[Mapping[str, str]]
ListTokens = Callable[[Messages], Mapping[str, float]]
"""The log-probabilities of first tokens of an answer, the most probable of all the vocabulary or all of it."""

WORDS = ("Billing", "Delivery", "Account", "Technical")
TOKENS = (*WORDS, " Billing", "Bil", "B", "D", "The", "the", "yes", "no", *"ACEFGH")


@dataclass(frozen=True)
class HashChat:
    """A model with a small vocabulary. It repeats the last message of the user, or the word that stands in it, and
    answers questions by yes or no."""

    tokens: tuple[str, ...] = TOKENS

    def __call__(self, messages: Messages) -> Mapping[str, float]:
        last = messages[-1]["content"]
        text = json.dumps([dict(one) for one in messages], sort_keys=True)
        logits = np.array([self._logit(text, last, token) for token in self.tokens])
        return dict(zip(self.tokens, (logits - np.logaddexp.reduce(logits)).tolist(), strict=True))

    def _logit(self, text: str, last: str, token: str) -> float:
        digest = hashlib.blake2b(f"{text}\x1f{token}".encode(), digest_size=8).digest()
        noise = 2.0 * int.from_bytes(digest, "big") / 2**64
        starts = [one for one in self.tokens if last.startswith(one)]
        if starts and token == max(starts, key=len):
            return noise + 6.0
        is_answer = last.endswith("?") and token in ("yes", "no")
        return noise + 2.5 * (is_answer or (len(token) > 2 and token.strip().lower() in last.lower()))


@dataclass
class ChatDouble:
    """The server: what it was asked, and what it does wrong.

    `fault` changes each answer, or is another response. `refuse` is asked first: a response of it is the answer.
    """

    model: ListTokens = field(default_factory=HashChat)
    fault: Callable[[dict[str, Any]], dict[str, Any] | Response] | None = None
    refuse: Callable[[dict[str, Any]], Response | None] | None = None
    has_log_probs: bool = True
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)

    async def complete(self, request: Request) -> Response:
        body = await request.json()
        self.bodies.append(body)
        self.keys.add(request.headers.get("Authorization"))
        if self.refuse is not None and (refused := self.refuse(body)) is not None:
            return refused
        answer = await asyncio.to_thread(self._answer, body)
        changed = answer if self.fault is None else self.fault(answer)
        return changed if isinstance(changed, Response) else JSONResponse(changed)

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        found = self.model(body["messages"])
        best = sorted(found, key=lambda token: -found[token])[: body.get("top_logprobs", _TOP)]
        listed = [{"token": token, "logprob": found[token], "bytes": None} for token in best]
        log_probs = {"content": [{**listed[0], "top_logprobs": listed}]} if self.has_log_probs else None
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": best[0]},
            "logprobs": log_probs if body.get("logprobs") else None,
            "finish_reason": "length",
        }
        usage = {"prompt_tokens": sum(len(one["content"]) // 4 + 4 for one in body["messages"]), "completion_tokens": 1}
        return {"id": "c", "model": DATED, "system_fingerprint": "fp_1", "choices": [choice], "usage": usage}

    def app(self) -> Starlette:
        """Only completions: a chat API may list no models."""
        return Starlette(routes=[Route("/v1/chat/completions", self.complete, methods=["POST"])])


def listed(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The most probable tokens of an answer, to be changed by a fault."""
    found: list[dict[str, Any]] = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    return found
