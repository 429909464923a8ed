"""A chat API without probabilities: one answer a prompt, which is a label word or is not.

The scores say which label was answered, and nothing else: its log-probability is near 0, that of the others is low. An
answer that is no label has the values of `scoring.no_answer`.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from lens_engine.errors import InvalidVerbalizer
from lens_engine.scoring.limits import NO_LABEL, REFUSED, UNFINISHED
from lens_engine.servers.chat import ChatServer
from lens_engine.servers.chat_client import Way, read_said
from lens_engine.servers.contract import Parts
from lens_engine.servers.reads import in_form_of
from lens_engine.task.chat import ChatTask, ask_for_words
from lens_engine.task.template import Task
from lens_engine.types import FloatArray

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

    async def _read(self, prompt: Parts, wanted: Parts) -> FloatArray:
        with in_form_of(self._endpoint.kind, self._transport.where):
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
