"""A chat API that is compatible with OpenAI's: `/chat/completions`, and the most probable first tokens of an answer.

Prompts are turns (`lens_engine.prompt.chat`). The value of a label is the logarithm of the summed probabilities of the
listed tokens that, without the spaces around them, equal the label's answer: its word, or the first token of a word
that the model writes in several. Beginnings of an answer ("Bil" of "Bill") are not added: they belong to other ways of
writing it, and adding them changed 5 to 10 % of the likeliest labels. A label that is not listed gets the smallest
listed value, which is an upper bound (see `lens_engine/model/limits.py`).
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lens_engine.disk import keep_note, read_note
from lens_engine.errors import EndpointError, InvalidVerbalizer
from lens_engine.model.base import Block, Prefix
from lens_engine.model.labels import check_distinct
from lens_engine.model.limits import ASK_FOR_ANSWERS, NO_LABEL, REFUSED, UNFINISHED, mark_floors
from lens_engine.model.servers import contract
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.chat_client import FEW, IN_TURN, TOP, ChatClient, Way, read_said
from lens_engine.model.servers.conformance import CHECK_QUESTIONS, CHECK_TURNS
from lens_engine.model.servers.transport import Transport
from lens_engine.model.tokenization import SegmentTokenizer
from lens_engine.prompt.chat import (
    MOST_LETTERS,
    ChatTask,
    Turn,
    ask_for_letters,
    ask_for_words,
    instruct,
    read_turns,
    write_turns,
)
from lens_engine.prompt.template import Task
from lens_engine.types import FloatArray

_LEAST_CHARACTERS = 2
_EXAMPLES = 3
"""Number of other words that a probe shows as examples."""


def list_probes(words: Sequence[str]) -> list[list[Turn]]:
    """For each word, turns whose right answer is the word: it is repeated, as other words were before."""
    system = {"role": "system", "content": instruct(words)}
    return [
        [system, *_repeat([other for other in words if other != word][:_EXAMPLES]), say("user", word)] for word in words
    ]


def find_answers(words: Sequence[str], listed: Sequence[Mapping[str, float]]) -> tuple[str, ...] | None:
    """The beginning of the answer that stands for each word; None if the words must be replaced by letters.

    It is the most probable listed token that is a beginning of the word, without the spaces around it.

    Args:
        listed: of each word's probe, the log-probabilities of the most probable first tokens.
    """
    found = [_find_beginning(word, tokens) for word, tokens in zip(words, listed, strict=True)]
    unclear = [word for word, start in zip(words, found, strict=True) if start is None or not _tells(start, words)]
    if not unclear:
        return tuple(start for start in found if start is not None)
    if len(words) > MOST_LETTERS:
        raise InvalidVerbalizer(
            f"the first token of the label word {unclear[0]!r} does not tell it from others, and letters stand for "
            f"{MOST_LETTERS} labels at most; give it a word that begins otherwise",
            field="verbalizer",
        )
    return None


def _find_beginning(word: str, tokens: Mapping[str, float]) -> str | None:
    starts = [token for token in tokens if token.strip() and word.startswith(token.strip())]
    return max(starts, key=lambda token: tokens[token]).strip() if starts else None


def _tells(start: str, words: Sequence[str]) -> bool:
    """Whether a token is the beginning of one word alone, and long enough."""
    begun = [word for word in words if word.startswith(start)]
    return len(begun) == 1 and (len(start) >= _LEAST_CHARACTERS or start == begun[0])


def _repeat(words: Sequence[str]) -> list[Turn]:
    return [say(role, word) for word in words for role in ("user", "assistant")]


def say(role: str, content: str) -> Turn:
    return {"role": role, "content": content}


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
    why_alike = (
        "its most probable tokens are no label words; of a model that reasons first, turn that off (extra = "
        f'{{ reasoning_effort = "none" }}), or {ASK_FOR_ANSWERS}'
    )
    ways: tuple[Way, ...] = (Way(), Way(system_in_turn=True), Way(top=FEW), Way(system_in_turn=True, top=FEW))
    """How it is asked; each if the server refuses the form of the one before."""

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
        self._client = ChatClient(endpoint, transport, self.ways, self.usual_written)
        self._tokenizer = tokenizer
        self._cache_dir = cache_dir
        self._fitted: dict[tuple[object, ...], Task] = {}

    @property
    def reading(self) -> str:
        """How answers are read; an answer on disk is of one way."""
        return f"the {self._client.way.top} most probable tokens, 1"

    @property
    def facts(self) -> contract.ServerFacts:
        return self._client.facts

    @property
    def most_written(self) -> int:
        """As `Server.most_written`."""
        return self._client.most_written

    def ask_otherwise(self) -> bool:
        """As `Server.ask_otherwise`."""
        return self._client.ask_otherwise()

    @property
    def surroundings(self) -> tuple[str, ...]:
        extra = [f"{name} {value}" for name, value in sorted(self._endpoint.extra.items())]
        return (f"reads {self.reading}", *[IN_TURN] * self._client.way.system_in_turn, *extra)

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
            asked = {"fields": dict(self._endpoint.extra), "system_in_turn": self._client.way.system_in_turn}
            form = fitted.chat.model_copy(update=asked)
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
            choice = await self.complete(turns, logprobs=True, top_logprobs=self._client.way.top)
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
                f"{where} gives {len(found)} of the {self._client.way.top} most probable tokens (check: values), so it "
                f"gives no probabilities of label words; take another model, or {ASK_FOR_ANSWERS}"
            )
        return found

    async def complete(self, turns: Sequence[Turn], **fields: object) -> dict[str, Any] | None:
        """As `ChatClient.complete`."""
        return await self._client.complete(turns, sum(self.count_tokens([write_turns(turns)])), fields)

    def read_prompt(self, prompt: contract.Parts) -> list[Turn]:
        turns = [read_turns(str(segment)) for segment in prompt]
        if not all(turns):
            raise EndpointError(f"{self._transport.where} is asked by turns of a chat, and this prompt is a text")
        return [turn for own in turns for turn in own]

    def _choose_words(self, task: Task) -> ChatTask:
        words, endpoint = tuple(task.verbalizer.words.values()), self._endpoint
        probes = list_probes(words)
        key = ["label words", endpoint.kind, endpoint.model, self._client.answered_as, *self.surroundings, probes]
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

_EDGE = re.compile(r"^\W+|\W+$")


class SampledServer(ChatServer):
    """A chat API that is asked for answers."""

    gives_answers_only = True
    usual_written = 24
    reading = "a sampled answer without thoughts, 1"
    why_alike = (
        "none of its answers is a label word; if it reasons, and its limit ends what it thinks, raise that (extra = { "
        'max_completion_tokens = 2000 }), or turn it off (extra = { reasoning_effort = "none" }; docs/servers.md)'
    )
    ways = (Way(), Way(system_in_turn=True))

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
        folded = {_fold(word): word for word in words}
        if len(folded) < len(words):
            alike = next(word for word in words if folded[_fold(word)] != word)
            raise InvalidVerbalizer(
                f"label words {alike!r} and {folded[_fold(alike)]!r} differ in case or punctuation alone, which does "
                "not tell answers apart; choose another word for one of them",
                field="verbalizer",
            )
        return ask_for_words(task, words, is_sampled=True)


def find_said(said: str, words: Sequence[str]) -> int | None:
    """The place of the word that an answer is or begins with; None if it is no word.

    Case and what surrounds the answer ("**Billing**.") do not matter. Of two words that begin alike, the longer counts.
    """
    folded = _fold(said)
    begun = [
        place
        for place, word in enumerate(map(_fold, words))
        if folded.startswith(word) and not folded[len(word) : len(word) + 1].isalnum()
    ]
    return max(begun, key=lambda place: len(words[place])) if begun else None


def _fold(text: str) -> str:
    return _EDGE.sub("", text).casefold() or text.strip().casefold()
