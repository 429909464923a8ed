"""A chat API that is compatible with OpenAI's: `/chat/completions`, and the 20 most probable first tokens of an answer.

Prompts are turns (`lens_engine.task.chat`). The value of a label is the logarithm of the summed probabilities of the
listed tokens that, without the spaces around them, equal the label's answer: its word, or the first token of a word
that the model writes in several. Beginnings of an answer ("Bil" of "Bill") are not added: they belong to other ways of
writing it, and adding them changed 5 to 10 % of the likeliest labels. A label that is not listed gets the smallest
listed value, which is an upper bound (see `scoring.floors`).
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lens_engine.disk.cache_folder import keep_note, read_note
from lens_engine.errors import EndpointError
from lens_engine.scoring.base import Block, Prefix
from lens_engine.scoring.floors import mark_floors
from lens_engine.scoring.labels import check_distinct
from lens_engine.scoring.tokenization import SegmentTokenizer
from lens_engine.servers.address import Endpoint
from lens_engine.servers.chat_words import find_answers, list_probes
from lens_engine.servers.conformance import CHECK_QUESTIONS, CHECK_TURNS
from lens_engine.servers.contract import Parts, ReadBatch, ReadPlan, ServerFacts
from lens_engine.servers.reads import NO_LOG_PROB, check_log_probs, in_form_of
from lens_engine.servers.server_words import read_name
from lens_engine.servers.transport import Transport
from lens_engine.task.chat import (
    ChatTask,
    Turn,
    ask_for_letters,
    ask_for_words,
    instruct,
    lift_system,
    merge_fields,
    read_turns,
    write_turns,
)
from lens_engine.task.template import Task
from lens_engine.types import FloatArray

TOP = 20
"""Number of most probable tokens that are asked for: the most that OpenAI gives."""

USUAL_CONTEXT = 32_768
"""Longest prompt of an endpoint that names none (tokens)."""

_BYTES_PER_TOKEN = 3  # fewer than most texts have, so that an estimate is an upper bound
_TURN_TOKENS = 4
"""Tokens that a chat template puts around a turn, about."""

_LEAST_LISTED = 2
_MOST_LISTED = 5 * TOP  #: listed tokens that are read; a server may list more than it was asked for

_CHECK_WORDS = ("yes", "no")


class ChatServer:
    """A chat API that lists probable tokens. It is asked for nothing but completions."""

    prompts_per_request = 1
    takes_turns = True
    gives_answers_only = False
    least_check_nats = -5.0  # below, the values of one model differ from minute to minute
    usual_written = 1  #: most tokens of an answer, unless the endpoint says otherwise
    reading = "the 20 most probable tokens, 1"  #: how answers are read; an answer on disk is of one way

    def __init__(
        self, endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None, cache_dir: Path | None
    ) -> None:
        """
        Args:
            tokenizer: the model's own; None to estimate the number of tokens.
            cache_dir: where the choice of label words is kept, as `cache_folder` takes it.
        """
        self._endpoint = endpoint
        self._transport = transport
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._answered_as: str | None = None
        self._fingerprint = ""
        self._fitted: dict[tuple[object, ...], Task] = {}

    @property
    def most_written(self) -> int:
        """As `Server.most_written`; the context, if the endpoint leaves the limit out."""
        fields = merge_fields(self._endpoint.extra, self.usual_written)
        limits = [fields.get(name) for name in ("max_completion_tokens", "max_tokens")]
        return max((limit for limit in limits if isinstance(limit, int)), default=self.facts.context)

    @property
    def facts(self) -> ServerFacts:
        """The name under which the model answers is part of its identity. `system_fingerprint` is not: vendors change
        it with each machine."""
        return ServerFacts(
            version="openai-chat",
            model=self._endpoint.model,
            context=self._endpoint.context or USUAL_CONTEXT,
            details={"answers as": self._answered_as},
            note=", ".join(filter(None, [self._transport.clean(self._answered_as or ""), self._fingerprint])),
        )

    @property
    def surroundings(self) -> tuple[str, ...]:
        extra = [f"{name} {value}" for name, value in sorted(self._endpoint.extra.items())]
        return (f"reads {self.reading}", *extra)

    @property
    def check(self) -> tuple[Block, tuple[str, ...]]:
        system = {"role": "system", "content": instruct(_CHECK_WORDS)}
        prefix = tuple(write_turns([_by_user(text), _by_assistant(word)]) for text, word in CHECK_TURNS)
        queries = tuple(write_turns([system, _by_user(question)]) for question in CHECK_QUESTIONS)
        return Block((prefix,), queries), _CHECK_WORDS

    def fit_task(self, task: Task) -> Task:
        """As turns, with the label words or, where their first tokens may be alike, with letters.

        Each word is asked for once, and the choice is kept on disk. The words stay if the first token of every one is
        the beginning of one word alone, and has two characters at least or is the whole word.

        Raises:
            InvalidVerbalizer: the words are alike, and there are more labels than letters.
            EndpointError: as `answer`.
        """
        if isinstance(task, ChatTask):
            return task
        key = (task.template.pattern, tuple(task.verbalizer.words.items()), task.separator, task.instruction)
        if key not in self._fitted:
            fitted = self._choose_words(task)
            form = fitted.chat.model_copy(update={"fields": dict(self._endpoint.extra)})
            self._fitted[key] = ChatTask(fitted, form)
        return self._fitted[key]

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[Parts]:
        """Each is read as a whole; `fit_task` sees that none begins another."""
        return [(span,) for span in label_spans]

    def plan(self, label_spans: Sequence[str]) -> ReadPlan:
        """One read of all label words."""
        check_distinct(label_spans, self.encode_label_spans(label_spans))
        return ReadPlan(((),), (tuple(label_spans),), tuple(((0, place),) for place in range(len(label_spans))))

    def encode(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> list[tuple[Parts, list[Parts]]]:
        endings: list[Parts] = [(query,) for query in queries]
        return [(prefix, endings) for prefix in prefixes]

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """By the tokenizer, and four for each turn; without one, a token for each three bytes of UTF-8."""
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
        return mark_floors(values, is_floor).astype(np.float64)

    async def _list_tokens(self, turns: Sequence[Turn]) -> Mapping[str, float]:
        """The log-probabilities of the most probable first tokens. Stand-ins for "none" are left out, unless all are.

        Raises:
            EndpointError: the server gives none.
        """
        where = self._transport.where
        with in_form_of(self._endpoint.kind, where):
            choice = await self.complete(turns, logprobs=True, top_logprobs=TOP)
            content = (choice.get("logprobs") or {}).get("content")
            if not content:
                raise EndpointError(
                    f"{where} gives no log-probabilities of {self._endpoint.model} (check: values); take another "
                    'model, or ask for sampled answers: answers="sampled"'
                )
            listed = {str(one["token"]): float(one["logprob"]) for one in content[0]["top_logprobs"][:_MOST_LISTED]}
        found = {token: value for token, value in listed.items() if value > NO_LOG_PROB}
        if len(found) < _LEAST_LISTED:
            raise EndpointError(
                f"{where} gives {len(found)} of the {TOP} most probable tokens (check: values), so it gives no "
                'probabilities of label words; take another model, or ask for sampled answers: answers="sampled"'
            )
        return found

    async def complete(self, turns: Sequence[Turn], **fields: object) -> dict[str, Any]:
        """The first choice of an answer.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the answer has another form.
        """
        fields |= {"model": self._endpoint.model, "messages": list(turns)}
        body = fields | merge_fields(self._endpoint.extra, self.usual_written)
        tokens = sum(self.count_tokens([write_turns(turns)]))
        answer = await self._transport.post("/chat/completions", body, tokens=tokens, written=self.most_written)
        self._check_model(read_name(answer["model"]), answer.get("system_fingerprint"))
        return {**answer["choices"][0]}

    def _read_prompt(self, prompt: Parts) -> list[Turn]:
        turns = [read_turns(str(segment)) for segment in prompt]
        if not all(turns):
            raise EndpointError(f"{self._transport.where} is asked by turns of a chat, and this prompt is a text")
        return lift_system([turn for own in turns for turn in own])

    def _check_model(self, name: str | None, fingerprint: object) -> None:
        """A name with a date may answer for one without; another one later is another model."""
        self._fingerprint = self._transport.clean(fingerprint or "")
        self._answered_as = self._answered_as or name
        if name != self._answered_as:
            raise EndpointError(
                f"{self._transport.where} answers under another name than before (check: model): name the model with "
                "its date, or an address that asks one model",
                said=self._transport.clean(f"{name}, and before {self._answered_as}"),
            )

    def _choose_words(self, task: Task) -> ChatTask:
        words, endpoint = tuple(task.verbalizer.words.values()), self._endpoint
        probes = list_probes(words)
        key = ["label words", endpoint.kind, endpoint.model, self._answered_as, dict(endpoint.extra), probes]
        known = read_note(key, self._cache_dir)
        answers = find_answers(words, self._probe(probes)) if known is None else json.loads(known)
        if known is None:
            keep_note(key, json.dumps(answers), self._cache_dir)
        return ask_for_letters(task) if answers is None else ask_for_words(task, answers)

    def _count(self, texts: Sequence[str]) -> list[int]:
        if self._tokenizer is not None:
            return self._tokenizer.count(texts)
        return [math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN) for text in texts]

    def _probe(self, probes: Sequence[Sequence[Turn]]) -> list[Mapping[str, float]]:
        return self._transport.wait_all([self._transport.start(self._list_tokens(turns)) for turns in probes])


def _by_user(text: str) -> Turn:
    return {"role": "user", "content": text}


def _by_assistant(text: str) -> Turn:
    return {"role": "assistant", "content": text}
