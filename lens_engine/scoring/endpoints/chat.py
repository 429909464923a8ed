"""A chat API that is compatible with OpenAI's: `/chat/completions`, and the 20 most probable first tokens of an answer.

Prompts are turns (`lens_engine.task.chat`). The value of a label is the logarithm of the summed probabilities of the
listed tokens that, without the spaces around them, equal the label's answer: its word, or the first token of a word
that the model writes in several. Beginnings of an answer ("Bil" of "Bill") are not added: they belong to other ways of
writing it, and adding them changed 5 to 10 % of the likeliest labels. A label that is not listed gets the smallest
listed value, which is an upper bound (see `scoring.floors`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lens_engine.errors import EndpointError
from lens_engine.scoring.base import Block, Prefix
from lens_engine.scoring.endpoints.address import Endpoint
from lens_engine.scoring.endpoints.chat_words import find_answers, list_probes
from lens_engine.scoring.endpoints.contract import Parts, ReadBatch, ReadPlan, ServerFacts
from lens_engine.scoring.endpoints.reads import NO_LOG_PROB, check_log_probs
from lens_engine.scoring.endpoints.transport import Transport
from lens_engine.scoring.floors import check_floors, mark_floors
from lens_engine.scoring.labels import check_distinct
from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.task.chat import (
    ChatTask,
    Turn,
    ask_for_letters,
    ask_for_words,
    instruct,
    lift_system,
    read_turns,
    write_turns,
)
from lens_engine.task.template import Task
from lens_engine.types import FloatArray

TOP = 20
"""Number of most probable tokens that are asked for: the most that OpenAI gives."""

USUAL_CONTEXT = 32_768
"""Longest prompt of an endpoint that names none (tokens)."""

_BYTES_PER_TOKEN = 4
_TURN_TOKENS = 4
"""Tokens that a chat template puts around a turn, by and large."""

_LEAST_LISTED = 2
_CHECK_WORDS = ("yes", "no")
_CHECK_TURNS = (("Is ice cold?", "yes"), ("Is a mouse larger than a house?", "no"))
_CHECK_QUESTIONS = (
    "Is water wet?",
    "Can a stone swim?",
    "Do birds have wings?",
    "Is the moon made of wood?",
    "Is seven more than three?",
    "Are all numbers even?",
    "Is fire cold?",
    "Do fish need water?",
)


class ChatServer:
    """A chat API that lists probable tokens. It is asked for nothing but completions."""

    prompts_per_request = 1
    takes_turns = True
    gives_answers_only = False
    least_check_nats = -5.0  # below, the values of one model differ from minute to minute
    reading = "the 20 most probable tokens, 1"  #: how answers are read; an answer on disk is of one way

    def __init__(self, endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None) -> None:
        """`tokenizer`: the model's own; without it, tokens are estimated."""
        self._endpoint = endpoint
        self._transport = transport
        self._tokenizer = tokenizer
        self._answered_as: str | None = None
        self._fingerprint = ""
        self._fitted: dict[tuple[object, ...], Task] = {}
        self._values = self._floors = 0

    @property
    def facts(self) -> ServerFacts:
        """The name under which the model answers is part of its identity. `system_fingerprint` is not: vendors change
        it with each machine."""
        return ServerFacts(
            version="openai-chat",
            model=self._endpoint.model,
            context=self._endpoint.context or USUAL_CONTEXT,
            details={"answers as": self._answered_as},
            note=", ".join(filter(None, [self._answered_as, self._fingerprint])),
        )

    @property
    def surroundings(self) -> tuple[str, ...]:
        extra = [f"{name} {value}" for name, value in sorted(self._endpoint.extra.items())]
        return (f"reads {self.reading}", *extra)

    @property
    def check(self) -> tuple[Block, tuple[str, ...]]:
        system = {"role": "system", "content": instruct(_CHECK_WORDS)}
        prefix = tuple(write_turns([_by_user(text), _by_assistant(word)]) for text, word in _CHECK_TURNS)
        queries = tuple(write_turns([system, _by_user(question)]) for question in _CHECK_QUESTIONS)
        return Block((prefix,), queries), _CHECK_WORDS

    def fit_task(self, task: Task) -> Task:
        """As turns, with the label words or, where their first tokens may be alike, with letters.

        Each word is asked for once. The words stay if the first token of every one is the beginning of one word
        alone, and has two characters at least or is the whole word.

        Raises:
            InvalidVerbalizer: the words are alike, and there are more labels than letters.
            EndpointError: as `answer`.
        """
        if isinstance(task, ChatTask):
            return task
        key = (task.template.pattern, tuple(task.verbalizer.words.items()), task.separator)
        if key not in self._fitted:
            self._fitted[key] = self._choose_words(task)
        return self._fitted[key]

    def plan(self, label_spans: Sequence[str]) -> ReadPlan:
        """One read of all label words."""
        check_distinct(label_spans, [(span,) for span in label_spans])
        return ReadPlan(((),), (tuple(label_spans),), tuple(((0, place),) for place in range(len(label_spans))))

    def encode(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> list[tuple[Parts, list[Parts]]]:
        endings: list[Parts] = [(query,) for query in queries]
        return [(prefix, endings) for prefix in prefixes]

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """By the tokenizer, and four for each turn; without one, a token for each four bytes of UTF-8."""
        turns = [read_turns(segment) for segment in segments]
        texts = [[turn["content"] for turn in own] or [segment] for own, segment in zip(turns, segments, strict=True)]
        counts = [sum(self._count(own)) for own in texts]
        return [count + _TURN_TOKENS * len(own) for count, own in zip(counts, turns, strict=True)]

    async def answer(self, batch: ReadBatch) -> FloatArray:
        """As `Server.answer`. Floors are marked."""
        found = [await self._read(prompt, batch.wanted) for prompt in batch.prompts]
        return np.array(found, dtype=np.float64)

    async def _read(self, prompt: Parts, wanted: Parts) -> FloatArray:
        listed = await self._list_tokens(self._read_prompt(prompt))
        floor = min(listed.values())
        found = {word: [value for token, value in listed.items() if token.strip() == word] for word in wanted}
        values = np.array([np.logaddexp.reduce(found[word]) if found[word] else floor for word in wanted])
        total = np.logaddexp.reduce([*listed.values()])
        check_log_probs(np.array([*values, total]), self._transport.where)
        is_floor = np.array([not found[word] for word in wanted])
        self._values, self._floors = self._values + len(wanted), self._floors + int(is_floor.sum())
        check_floors(self._floors, self._values, self._transport.where)
        return mark_floors(values, is_floor).astype(np.float64)

    async def _list_tokens(self, turns: Sequence[Turn]) -> Mapping[str, float]:
        """The log-probabilities of the most probable first tokens. Stand-ins for "none" are left out, unless all are.

        Raises:
            EndpointError: the server gives none.
        """
        asked = {"logprobs": True, "top_logprobs": TOP}
        choice = await self.complete(turns, most_tokens=1, fields=asked)
        where = self._transport.where
        content = (choice.get("logprobs") or {}).get("content")
        if not content:
            raise EndpointError(
                f"{where} gives no log-probabilities of {self._endpoint.model} (check: values); take another model, or "
                'ask for sampled answers: answers="sampled"'
            )
        try:
            listed = {str(one["token"]): float(one["logprob"]) for one in content[0]["top_logprobs"]}
        except (KeyError, TypeError, ValueError) as error:
            raise self.strange(error) from error
        found = {token: value for token, value in listed.items() if value > NO_LOG_PROB}
        if len(found) < _LEAST_LISTED:
            raise EndpointError(
                f"{where} gives {len(found)} of the {TOP} most probable tokens (check: values), so it gives no "
                'probabilities of label words; take another model, or ask for sampled answers: answers="sampled"'
            )
        return found

    async def complete(self, turns: Sequence[Turn], *, most_tokens: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The first choice of an answer."""
        extra = self._endpoint.extra
        limit = {} if "max_completion_tokens" in extra else {"max_tokens": most_tokens}
        body = {"model": self._endpoint.model, "messages": list(turns), "temperature": 0, **limit, **fields, **extra}
        tokens = sum(self.count_tokens([write_turns(turns)]))
        answer = await self._transport.post("/chat/completions", body, tokens=tokens, written=most_tokens)
        try:
            self._check_model(str(answer["model"]), answer.get("system_fingerprint"))
            choice: dict[str, Any] = answer["choices"][0]
            return {**choice}
        except (KeyError, IndexError, TypeError) as error:
            raise self.strange(error) from error

    def strange(self, error: Exception) -> EndpointError:
        return EndpointError(
            f"{self._transport.where} answers in a form that chat completions do not have ({type(error).__name__}: "
            f"{error}); is it another kind of server?"
        )

    def _read_prompt(self, prompt: Parts) -> list[Turn]:
        turns = [read_turns(str(segment)) for segment in prompt]
        if not all(turns):
            raise EndpointError(f"{self._transport.where} is asked by turns of a chat, and this prompt is a text")
        return lift_system([turn for own in turns for turn in own])

    def _check_model(self, name: str, fingerprint: object) -> None:
        """A name with a date may answer for one without; another one later is another model."""
        self._fingerprint = str(fingerprint or "")
        if self._answered_as is None:
            self._answered_as = name
        elif name != self._answered_as:
            raise EndpointError(
                f"{self._transport.where} answered as {name!r}, and before as {self._answered_as!r} (check: model): "
                "name the model with its date, or an address that asks one model"
            )

    def _choose_words(self, task: Task) -> Task:
        words = tuple(task.verbalizer.words.values())
        answers = find_answers(words, self._probe(words))
        return ask_for_letters(task) if answers is None else ask_for_words(task, answers)

    def _count(self, texts: Sequence[str]) -> list[int]:
        if self._tokenizer is not None:
            return self._tokenizer.count(texts)
        return [math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN) for text in texts]

    def _probe(self, words: Sequence[str]) -> list[Mapping[str, float]]:
        """What is listed where each word is the right answer."""
        return self._transport.wait_all(
            [self._transport.start(self._list_tokens(turns)) for turns in list_probes(words)]
        )


def _by_user(text: str) -> Turn:
    return {"role": "user", "content": text}


def _by_assistant(text: str) -> Turn:
    return {"role": "assistant", "content": text}
