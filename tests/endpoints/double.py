"""A server that conforms, with a real language model behind it, and faults that a test switches on.

It speaks as vLLM does (`/v1/completions`), and as llama.cpp does (`/completion`).
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lens_engine.model.labels import build_label_trie
from lens_engine.types import FloatArray
from tests.endpoints.serving import serving as serving

if TYPE_CHECKING:
    from lens_engine.model.local.scorer import CausalLMScorer

MODEL = "served"
_CONTEXT = 2048


class Behind(Protocol):
    """The model of a double."""

    def __call__(self, prompts: Sequence[Sequence[int]], wanted: Sequence[int]) -> FloatArray:
        """Log-probabilities of the wanted tokens  # [prompts, wanted]."""
        ...

    def tokenize(self, text: str, *, special: bool) -> list[int]: ...


class HashBehind:
    """A model whose log-probabilities are a hash of the prompt, in (-8, 0); a token is a byte. It needs no torch."""

    def __call__(self, prompts: Sequence[Sequence[int]], wanted: Sequence[int]) -> FloatArray:
        return np.array([_hash_log_probs(prompt, wanted) for prompt in prompts])

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        return [*((0,) if special else ()), *text.encode()]

    def score(self, prefix: Sequence[str], query: str, span: str) -> float:
        """What a scorer should say."""
        before = [0, *"".join((*prefix, query)).encode()]
        tokens = span.encode()
        return sum(_hash_log_probs([*before, *tokens[:at]], [token])[0] for at, token in enumerate(tokens))


def _hash_log_probs(prompt: Sequence[int], wanted: Sequence[int]) -> list[float]:
    begun, found = hashlib.blake2b(f"[{''.join(f'{token}, ' for token in prompt)}".encode(), digest_size=2), []
    for token in wanted:
        one = begun.copy()
        one.update(b"%d]" % token)
        found.append(-(int.from_bytes(one.digest(), "big") % 511 + 1) / 64)
    return found


class ModelBehind:
    """The log-probabilities of a loaded model, by its executor."""

    def __init__(self, scorer: "CausalLMScorer") -> None:
        self.scorer = scorer
        self._lock = threading.Lock()

    def __call__(self, prompts: Sequence[Sequence[int]], wanted: Sequence[int]) -> FloatArray:
        from lens_engine.model.local.executors import Workload

        shared = len(_common_prefix(prompts))
        work = Workload(
            prefixes=(tuple(prompts[0][:shared]),),
            queries=tuple(tuple(prompt[shared:]) for prompt in prompts),
            trie=build_label_trie([str(token) for token in wanted], [(token,) for token in wanted]),
        )
        with self._lock:
            scores = self.scorer._executor.run(work, self.scorer.token_budget)[0]
        return scores.astype(np.float64)

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        tokenizer = self.scorer._tokenizer
        return [*(tokenizer.leading_tokens if special else ()), *tokenizer.encode_spans([text])[0]]


def _common_prefix(prompts: Sequence[Sequence[int]]) -> Sequence[int]:
    """The tokens with which all prompts begin; each has at least one more."""
    least = min(map(len, prompts)) - 1
    first = prompts[0]
    length = next((n for n in range(least) if any(one[n] != first[n] for one in prompts)), least)
    return first[:length]


@dataclass
class Double:
    """The server: what it was asked, and what it does wrong.

    `fault` is applied to each answer: it may change the JSON, or return another response. `refuse` is called before a
    request is answered with the number of the request; a response that it returns is the answer.
    """

    behind: Behind
    model: str = MODEL
    version: str | None = "0.32.0"
    context: int | None = _CONTEXT
    fault: Callable[[dict[str, Any]], dict[str, Any] | Response] | None = None
    refuse: Callable[[int], Response | None] | None = None
    vocabulary: int = 256  #: of what it lists as llama.cpp
    listed: int = 1000  #: largest number of tokens that it lists as llama.cpp
    seconds: float = 0.0  #: of each answer, beside what the model takes
    url: str = ""
    num_completions: int = 0
    num_prompts: int = 0
    most_at_once: int = 0
    prompts: list[tuple[int, ...]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    _now: int = 0

    async def models(self, _request: Request) -> Response:
        return JSONResponse({"data": [{"id": self.model, "max_model_len": self.context, "root": "/weights"}]})

    async def tell_version(self, _request: Request) -> Response:
        return Response(status_code=404) if self.version is None else JSONResponse({"version": self.version})

    async def tokenize(self, request: Request) -> Response:
        body = await request.json()
        if "content" in body:  # llama.cpp
            return JSONResponse({"tokens": self.behind.tokenize(body["content"], special=body["add_special"])})
        tokens = self.behind.tokenize(body["prompt"], special=body["add_special_tokens"])
        return JSONResponse({"tokens": tokens, "count": len(tokens), "max_model_len": _CONTEXT})

    async def props(self, _request: Request) -> Response:
        settings = {"n_ctx": self.context}
        weights = {"model_alias": self.model, "model_path": f"/weights/{self.model}.gguf", "model_ftype": "all F32"}
        return JSONResponse(
            {"default_generation_settings": settings, "total_slots": 4, "build_info": f"b{self.version}", **weights}
        )

    async def completion(self, request: Request) -> Response:
        return await self._answer(request, self._list_tokens)

    async def completions(self, request: Request) -> Response:
        return await self._answer(request, self._complete)

    async def _answer(self, request: Request, compute: Callable[[dict[str, Any]], Any]) -> Response:
        body = await request.json()
        self.headers.append(dict(request.headers))
        self.num_completions += 1
        if self.refuse is not None and (refused := self.refuse(self.num_completions)) is not None:
            return refused
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await asyncio.sleep(self.seconds)
            answer = await asyncio.to_thread(compute, body)
        finally:
            self._now -= 1
        if self.fault is None:
            return JSONResponse(answer)
        changed = self.fault(answer)
        return changed if isinstance(changed, Response) else _NanResponse(changed)

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        prompts, wanted = body["prompt"], body["logprob_token_ids"]
        self.prompts += map(tuple, prompts)
        self.num_prompts += len(prompts)
        found = self.behind(prompts, wanted)
        choices = [
            {
                "index": index,
                "text": "x",
                "finish_reason": "length",
                "logprobs": {
                    "tokens": ["token_id:0"],
                    "token_logprobs": [-1.0],
                    "top_logprobs": [
                        {"token_id:0": -1.0} | {f"token_id:{t}": float(v) for t, v in zip(wanted, row, strict=True)}
                    ],
                },
            }
            for index, row in enumerate(found)
        ]
        sent = sum(map(len, prompts))
        usage = {"prompt_tokens": sent, "completion_tokens": len(prompts), "total_tokens": sent + len(prompts)}
        return {"id": "c", "object": "text_completion", "model": body["model"], "choices": choices, "usage": usage}

    def _list_tokens(self, body: dict[str, Any]) -> Any:
        """Each prompt's most probable tokens, as many as are asked for and the double lists."""
        prompts = body["prompt"]
        self.prompts += map(tuple, prompts)
        self.num_prompts += len(prompts)
        tokens = range(self.vocabulary)
        answers = []
        for index, (prompt, values) in enumerate(zip(prompts, self.behind(prompts, tokens), strict=True)):
            ranked = sorted(({"id": t, "logprob": float(v)} for t, v in zip(tokens, values, strict=True)), key=_by_rank)
            biased = [one for one in ranked if [one["id"], 1000] in body.get("logit_bias", [])]
            listed = ranked[: min(body["n_probs"], self.listed)]
            answers.append(
                {
                    "index": index,
                    "model": self.model,
                    "tokens_evaluated": len(prompt),
                    "timings": {"cache_n": len(prompt) - 1},
                    "completion_probabilities": [{**(biased or ranked)[0], "top_logprobs": listed}],
                }
            )
        return answers if len(answers) > 1 else answers[0]

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/models", self.models),
                Route("/version", self.tell_version),
                Route("/tokenize", self.tokenize, methods=["POST"]),
                Route("/props", self.props),
                Route("/completion", self.completion, methods=["POST"]),
                Route("/v1/completions", self.completions, methods=["POST"]),
            ]
        )


def _by_rank(one: dict[str, Any]) -> float:
    return -float(one["logprob"])


class _NanResponse(JSONResponse):
    """JSON as Python writes it, with NaN."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode()
