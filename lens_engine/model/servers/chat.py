"""A chat API that is compatible with OpenAI's: `/chat/completions`, and the most probable first tokens of an answer.

Prompts are turns (`lens_engine.prompt.chat`). The value of a label is the logarithm of the summed probabilities of the
listed tokens that, without the spaces around them, equal the label's answer: its word, or the first token of a word
that the model writes in several. Beginnings of an answer ("Bil" of "Bill") are not added: they belong to other ways of
writing it, and adding them changed 5 to 10 % of the likeliest labels. A label that is not listed gets the smallest
listed value, which is an upper bound (see `lens_engine/model/limits.py`).
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from lens_engine.disk import keep_note, read_note
from lens_engine.errors import EndpointError, InvalidVerbalizer
from lens_engine.model.base import Block, Prefix
from lens_engine.model.labels import check_distinct
from lens_engine.model.limits import ASK_FOR_ANSWERS, NO_LABEL, REFUSED, UNFINISHED, mark_floors
from lens_engine.model.servers import contract
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.chat_answers import (
    find_answers,
    find_said,
    fold,
    list_probes,
    read_choice,
    read_said,
    say,
)
from lens_engine.model.servers.conformance import CHECK_QUESTIONS, CHECK_TURNS
from lens_engine.model.servers.refusal import RequestRefused, read_name
from lens_engine.model.servers.transport import Transport
from lens_engine.model.tokenization import SegmentTokenizer
from lens_engine.prompt.chat import (
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
from lens_engine.prompt.template import Task
from lens_engine.types import FloatArray

_BYTES_PER_TOKEN = 3  # fewer than most texts have, so that an estimate is an upper bound
_TURN_TOKENS = 4
"""Tokens that a chat template puts around a turn, about."""

_TOP = 20
"""Number of most probable tokens that are asked for: the most that OpenAI gives."""

_USUAL_CONTEXT = 32_768
"""Longest prompt of an endpoint that names none (tokens)."""

_LEAST_LISTED = 2
_MOST_LISTED = 5 * _TOP  #: listed tokens that are read; a server may list more than it was asked for

_CHECK_WORDS = ("yes", "no")


class ChatServer(contract.Server):
    """A chat API that lists probable tokens. It is asked for nothing but completions."""

    takes_turns = True
    least_check_nats = -5.0  # below, the values of one model differ from minute to minute
    usual_written = 1  #: most tokens of an answer, unless the endpoint says otherwise
    reading = f"the {_TOP} most probable tokens, 1"  #: how answers are read; an answer on disk is of one way
    why_alike = (
        "its most probable tokens are no label words; of a model that reasons first, turn that off (extra = "
        f'{{ reasoning_effort = "none" }}), or {ASK_FOR_ANSWERS}'
    )

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
        self._fitted: dict[tuple[object, ...], Task] = {}
        self._answered_as: str | None = None
        self._fingerprint = ""
        self._context = endpoint.context or _USUAL_CONTEXT
        self._usual = merge_fields(endpoint.extra, self.usual_written)
        limits = [self._usual.get(name) for name in ("max_completion_tokens", "max_tokens")]
        self.most_written = max((limit for limit in limits if isinstance(limit, int)), default=self._context)

    @classmethod
    def meet(
        cls, endpoint: Endpoint, transport: Transport, tokenizer: SegmentTokenizer | None, cache_dir: Path | None
    ) -> Self:
        """As `Server.meet`: it says nothing of itself."""
        return cls(endpoint, transport, tokenizer, cache_dir)

    @property
    def facts(self) -> contract.ServerFacts:
        """The name under which the model answers is part of its identity. `system_fingerprint` is not: vendors change
        it with each machine."""
        return contract.ServerFacts(
            version="openai-chat",
            model=self._endpoint.model,
            context=self._context,
            details={"answers as": self._answered_as},
            note=", ".join(filter(None, [self._transport.clean(self._answered_as or ""), self._fingerprint])),
        )

    @property
    def surroundings(self) -> tuple[str, ...]:
        return (f"reads {self.reading}", *(f"{name} {value}" for name, value in sorted(self._endpoint.extra.items())))

    @property
    def check(self) -> tuple[Block, tuple[str, ...]]:
        system = say("system", instruct(_CHECK_WORDS))
        prefix = tuple(write_turns([say("user", text), say("assistant", word)]) for text, word in CHECK_TURNS)
        queries = tuple(write_turns([system, say("user", question)]) for question in CHECK_QUESTIONS)
        return Block((prefix,), queries), _CHECK_WORDS

    def fit_task(self, task: Task) -> Task:
        """As turns, with the label words or, where their first tokens may be alike, with letters.

        Each word is asked for once, and the choice is kept on disk. The words stay if the first token of every one is
        the beginning of one word alone, and has two characters at least or is the whole word.
        """
        if isinstance(task, ChatTask):
            return task
        key = (task.template.pattern, tuple(task.verbalizer.words.items()), task.separator, task.instruction)
        if key not in self._fitted:
            fitted = self._choose_words(task)
            form = fitted.chat.model_copy(update={"fields": dict(self._endpoint.extra)})
            self._fitted[key] = ChatTask(fitted, form)
        return self._fitted[key]

    def encode_label_spans(self, label_spans: Sequence[str]) -> list[contract.Parts]:
        """Each is read as a whole; `fit_task` sees that none begins another."""
        return [(span,) for span in label_spans]

    def plan(self, label_spans: Sequence[str]) -> contract.ReadPlan:
        """One read of all label words."""
        check_distinct(label_spans, self.encode_label_spans(label_spans))
        return contract.ReadPlan(
            ((),), (tuple(label_spans),), tuple(((0, place),) for place in range(len(label_spans)))
        )

    def encode(
        self, prefixes: Sequence[Prefix], queries: Sequence[str]
    ) -> list[tuple[contract.Parts, list[contract.Parts]]]:
        endings: list[contract.Parts] = [(query,) for query in queries]
        return [(prefix, endings) for prefix in prefixes]

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        """By the tokenizer, and four for each turn; without one, a token for each three bytes of UTF-8."""
        turns = [read_turns(segment) for segment in segments]
        texts = [[turn["content"] for turn in own] or [segment] for own, segment in zip(turns, segments, strict=True)]
        counts = [sum(self._count(own)) for own in texts]
        return [count + _TURN_TOKENS * len(own) for count, own in zip(counts, turns, strict=True)]

    async def answer(self, batch: contract.ReadBatch) -> FloatArray:
        """As `Server.answer`. Floors are marked, and rows without an answer."""
        found = [await self._read(prompt, batch.wanted) for prompt in batch.prompts]
        return np.array(found, dtype=np.float64)

    async def _read(self, prompt: contract.Parts, wanted: contract.Parts) -> FloatArray:
        listed = await self._list_tokens(self.read_prompt(prompt))
        if listed is None:
            return np.full(len(wanted), REFUSED)
        floor = min(listed.values())
        found = {word: [value for token, value in listed.items() if token.strip() == word] for word in wanted}
        values = np.array([np.logaddexp.reduce(found[word]) if found[word] else floor for word in wanted])
        total = np.logaddexp.reduce([*listed.values()])
        contract.check_log_probs(np.array([*values, total]), self._transport.where)
        is_floor = np.array([not found[word] for word in wanted])
        return mark_floors(values, is_floor).astype(np.float64)

    async def _list_tokens(self, turns: Sequence[Turn]) -> Mapping[str, float] | None:
        """The log-probabilities of the most probable first tokens; None if the content was refused.

        Stand-ins for "none" are left out, unless all are.

        Raises:
            EndpointError: the server gives none.
        """
        where = self._transport.where
        with contract.in_form_of(self._endpoint.kind, where):
            choice = await self.complete(turns, logprobs=True, top_logprobs=_TOP)
            if choice is None:
                return None
            content = (choice.get("logprobs") or {}).get("content")
            if not content:
                raise EndpointError(
                    f"{where} gives no log-probabilities of {self._endpoint.model} (check: values); take another "
                    f"model, or {ASK_FOR_ANSWERS}"
                )
            listed = {str(one["token"]): float(one["logprob"]) for one in content[0]["top_logprobs"][:_MOST_LISTED]}
        found = {token: value for token, value in listed.items() if value > contract.NO_LOG_PROB}
        if len(found) < _LEAST_LISTED:
            raise EndpointError(
                f"{where} gives {len(found)} of the {_TOP} most probable tokens (check: values), so it gives no "
                f"probabilities of label words; take another model, or {ASK_FOR_ANSWERS}"
            )
        return found

    async def complete(self, turns: Sequence[Turn], **fields: object) -> dict[str, Any] | None:
        """The first choice of an answer; None if the content was refused.

        Args:
            fields: of the request, beside those that every request has.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the answer has another form.
        """
        body = {**fields, "model": self._endpoint.model, "messages": lift_system(turns), **self._usual}
        tokens = sum(self.count_tokens([write_turns(turns)]))
        try:
            answer = await self._transport.post("/chat/completions", body, tokens=tokens, written=self.most_written)
        except RequestRefused as error:
            if error.is_for_content:
                return None
            raise
        choice = read_choice(answer)
        if choice is not None:
            self._check_model(read_name(answer["model"]), answer.get("system_fingerprint"))
        return choice

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

    def read_prompt(self, prompt: contract.Parts) -> list[Turn]:
        turns = [read_turns(str(segment)) for segment in prompt]
        if not all(turns):
            raise EndpointError(f"{self._transport.where} is asked by turns of a chat, and this prompt is a text")
        return [turn for own in turns for turn in own]

    def _choose_words(self, task: Task) -> ChatTask:
        words, endpoint = tuple(task.verbalizer.words.values()), self._endpoint
        probes = list_probes(words)
        key = ["label words", endpoint.kind, endpoint.model, self._answered_as, *self.surroundings, probes]
        known = read_note(key, self._cache_dir)
        answers = find_answers(words, self._probe(words, probes)) if known is None else json.loads(known)
        if known is None:
            keep_note(key, json.dumps(answers), self._cache_dir)
        return ask_for_letters(task) if answers is None else ask_for_words(task, answers)

    def _count(self, texts: Sequence[str]) -> list[int]:
        if self._tokenizer is not None:
            return self._tokenizer.count(texts)
        return [math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN) for text in texts]

    def _probe(self, words: Sequence[str], probes: Sequence[Sequence[Turn]]) -> list[Mapping[str, float]]:
        """What is listed for each word; the whole word where the content was refused, because floors would tell."""
        asked = [self._transport.start(self._list_tokens(turns)) for turns in probes]
        return [found or {word: 0.0} for word, found in zip(words, self._transport.wait_all(asked), strict=True)]


_HIT_NATS, _MISS_NATS = math.log(0.99), math.log(1e-4)
_MOST_SAID = 1000
"""Characters of an answer that are read, beside those of the longest label word: it is or begins with one."""


class SampledServer(ChatServer):
    """A chat API that is asked for answers."""

    gives_answers_only = True
    usual_written = 24
    reading = "a sampled answer without thoughts, 1"
    why_alike = (
        "none of its answers is a label word; if it reasons, and its limit ends what it thinks, raise that (extra = { "
        'max_completion_tokens = 2000 }), or turn it off (extra = { reasoning_effort = "none" }; docs/servers.md)'
    )

    async def _read(self, prompt: contract.Parts, wanted: contract.Parts) -> FloatArray:
        with contract.in_form_of(self._endpoint.kind, self._transport.where):
            choice = await self.complete(self.read_prompt(prompt))
            said = None if choice is None else read_said(choice)
        if said is None:
            return np.full(len(wanted), REFUSED if choice is None else UNFINISHED)
        place = find_said(said[: _MOST_SAID + max(map(len, map(str, wanted)))], [*map(str, wanted)])
        if place is None:
            return np.full(len(wanted), NO_LABEL)
        return np.where(np.arange(len(wanted)) == place, _HIT_NATS, _MISS_NATS)

    def _choose_words(self, task: Task) -> ChatTask:
        words = tuple(task.verbalizer.words.values())
        folded = {fold(word): word for word in words}
        if len(folded) < len(words):
            alike = next(word for word in words if folded[fold(word)] != word)
            raise InvalidVerbalizer(
                f"label words {alike!r} and {folded[fold(alike)]!r} differ in case or punctuation alone, which does "
                "not tell answers apart; choose another word for one of them",
                field="verbalizer",
            )
        return ask_for_words(task, words, is_sampled=True)
