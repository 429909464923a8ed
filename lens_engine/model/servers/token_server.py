"""What the servers that take token ids have in common: one tokenizer for prompts and label words, the trie; vLLM."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from lens_engine.errors import EndpointAway, EndpointError, InvalidDataset
from lens_engine.model.base import Block, Prefix
from lens_engine.model.servers import contract
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.conformance import CHECK_QUESTIONS, CHECK_TURNS
from lens_engine.model.servers.contract import Part, ReadBatch, ServerFacts
from lens_engine.model.servers.refusal import read_name
from lens_engine.model.servers.transport import Transport
from lens_engine.model.tokenization import SegmentTokenizer, leading_special_tokens
from lens_engine.types import FloatArray

_CHECK_DEMONSTRATIONS = tuple(f"Question: {question}\nAnswer: {word}\n" for question, word in CHECK_TURNS)
_LARGEST = 2**31 - 1
"""Largest token id, and longest context (tokens)."""

_CHECK_SPANS = (" yes", " no", " not sure")


class TokenServer(contract.Server):
    """A server that reads token ids. A subclass says how it describes itself, and how one batch of reads is asked."""

    why_alike = "its weights are not loaded as they should be, or it leaves the prompt out; look at the server's log"

    def __init__(
        self, endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer, facts: contract.ServerFacts
    ) -> None:
        self._facts = facts
        self._kind = endpoint.kind
        self._model = endpoint.model
        self._transport = transport
        self._tokenizer = tokenizer

    @classmethod
    def meet(
        cls, endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None, _cache_dir: Path | None, /
    ) -> Self:
        """As `Server.meet`. Without a tokenizer, the server is asked for tokens."""
        facts = transport.wait(transport.start(cls.describe(endpoint, transport)))
        tokenizer = tokenizer or ServerTokenizer(endpoint, transport, cls.tokenise)
        return cls(endpoint, transport, tokenizer, facts)

    @staticmethod
    async def describe(endpoint: Endpoint, transport: Transport) -> contract.ServerFacts:
        """What the server says of itself. Raises EndpointError if it is of another kind, or does not have the model."""
        raise NotImplementedError

    @staticmethod
    async def tokenise(endpoint: Endpoint, transport: Transport, text: str, special: bool) -> list[int]:
        """Token ids of a text, with or without the special tokens before and after it."""
        raise NotImplementedError

    @property
    def facts(self) -> contract.ServerFacts:
        return self._facts

    @property
    def surroundings(self) -> tuple[str, ...]:
        (asked,) = self._tokenizer.encode_prefixes([_CHECK_DEMONSTRATIONS])
        return (f"reads {type(self).__name__} 1", f"tokens {list(asked)}")

    @property
    def check(self) -> tuple[Block, tuple[str, ...]]:
        queries = tuple(f"Question: {question}\nAnswer:" for question in CHECK_QUESTIONS)
        return Block((_CHECK_DEMONSTRATIONS,), queries), _CHECK_SPANS

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[int, ...]]:
        return self._tokenizer.encode_spans(label_spans)

    def plan(self, label_spans: Sequence[str]) -> contract.ReadPlan:
        return contract.plan_reads(label_spans, self.encode_label_spans(label_spans))

    def encode(
        self, prefixes: Sequence[Prefix], queries: Sequence[str]
    ) -> list[tuple[contract.Parts, list[contract.Parts]]]:
        encoded: dict[bool, list[contract.Parts]] = {}
        for is_first in {not prefix for prefix in prefixes}:
            encoded[is_first] = [*self._tokenizer.encode_queries(queries, is_first=is_first)]
            for query, asked in zip(queries, encoded[is_first], strict=True):
                if not asked:
                    raise InvalidDataset(f"the query {query!r} has no tokens; remove it", field="dataset.text")
        found: list[contract.Parts] = [*self._tokenizer.encode_prefixes(prefixes)]
        return [(tokens, encoded[not prefix]) for prefix, tokens in zip(prefixes, found, strict=True)]

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self._tokenizer.count(segments)

    async def answer(self, batch: contract.ReadBatch) -> FloatArray:
        with contract.in_form_of(self._kind, self._transport.where):
            return contract.pick_values(batch, await self.ask(batch), self._transport.where)

    async def ask(self, batch: contract.ReadBatch) -> list[Mapping[contract.Part, float]]:
        """The log-probabilities of each prompt, by token id; they may hold more than the wanted ones.

        Raises:
            KeyError, IndexError, TypeError, ValueError, AttributeError: the answer has another form.
        """
        raise NotImplementedError

    def check_counts(self, batch: contract.ReadBatch, counted: object) -> None:
        """`counted`: number of tokens of all prompts of the batch, as the server says; None if it does not say."""
        sent = sum(map(len, batch.prompts))
        if counted is not None and counted != sent:
            raise EndpointError(
                f"{self._transport.where} counted {counted} prompt tokens, and Lens sent {sent} (check: tokens): "
                "another program changes the prompts, or cuts them"
            )


def read_context(endpoint: Endpoint, said: object, where: str) -> int:
    """The context (tokens): that of the endpoint, or else what the server says."""
    context = endpoint.context or (said if isinstance(said, int) and said <= _LARGEST else 0)
    if context < 1:
        raise EndpointError(f"{where} does not say how long a prompt may be; give the context of the endpoint (tokens)")
    return context


def read_tokens(answer: Any) -> list[int]:
    """The token ids of an answer."""
    tokens = [int(token) for token in answer["tokens"]]
    if any(not 0 <= token <= _LARGEST for token in tokens):
        raise ValueError("a token id is out of range")
    return tokens


Tokenise = Callable[[Endpoint, Transport, str, bool], Awaitable[list[int]]]
"""As `TokenServer.tokenise`."""

_AT_A_TIME = 256


class ServerTokenizer(SegmentTokenizer):
    """A `SegmentTokenizer` that asks for each new text once."""

    def __init__(self, endpoint: Endpoint, transport: Transport, tokenise: Tokenise) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._ask = tokenise
        plain, line, both, whole = self._ask_all([("a", False), ("\n", False), ("\na", False), ("a", True)])
        if line + plain != both:
            raise EndpointError(
                f"the tokenizer of {transport.where} puts a space before every text; name the model's own tokenizer "
                "(tokenizer)"
            )
        self.leading_tokens = leading_special_tokens(plain, whole)
        self._prepare_cache()

    @property
    def distinguishes_first(self) -> bool:
        return False

    def _tokenise(self, texts: Sequence[str], *, is_first: bool) -> Iterator[list[int]]:  # noqa: ARG002  both are alike
        for start in range(0, len(texts), _AT_A_TIME):
            yield from self._ask_all([(text, False) for text in texts[start : start + _AT_A_TIME]])

    def _ask_all(self, asked: Sequence[tuple[str, bool]]) -> list[list[int]]:
        return self._transport.wait_all([self._transport.start(self._ask_one(*one)) for one in asked])

    async def _ask_one(self, text: str, special: bool) -> list[int]:
        with contract.in_form_of(self._endpoint.kind, self._transport.where):
            return await self._ask(self._endpoint, self._transport, text, special)


_MOST_TOKENS = 128
"""Largest number of `logprob_token_ids` of a request."""


class VllmServer(TokenServer):
    """vLLM from 0.30 on: `/v1/completions` with token ids, and `logprob_token_ids` for the wanted tokens.

    Its answers name tokens as "token_id:17". Older versions ignore the field without a message; then keys are missing.
    """

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
