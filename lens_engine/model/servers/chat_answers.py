"""What a chat API answers: a refusal, a label word, or the beginning of one."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lens_engine.errors import InvalidVerbalizer
from lens_engine.model.servers.refusal import is_about_content
from lens_engine.prompt.chat import MOST_LETTERS, Turn, instruct

_FILTERED = {
    *("content_filter", "content_filtered", "guardrail_intervened", "prohibited_content", "refusal", "safety"),
    "sensitive",
}
"""Why an answer ends that is withheld, as vendors call it."""

_TAG = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reflection)"
_BEGINS = re.compile(rf"<{_TAG}>|\[THINK\]|◁think▷|<\|channel\|>(?:analysis|commentary)", re.IGNORECASE)
_ENDS = re.compile(rf".*(?:</{_TAG}>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>)", re.IGNORECASE | re.DOTALL)
"""What a model thinks, up to its last end. A chat template may have put the beginning into the prompt."""


def read_choice(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The first choice; None if the content was refused, by the server or by the model."""
    if "choices" not in answer and is_about_content(json.dumps(answer.get("error"))):
        return None
    choice = {**answer["choices"][0]}
    is_refused = (choice.get("message") or {}).get("refusal")
    return None if is_refused or str(choice.get("finish_reason")).lower() in _FILTERED else choice


def read_said(choice: dict[str, Any]) -> str | None:
    """What the model says without what it thinks; None if its limit ended it before it said something."""
    content = choice["message"]["content"] or ""
    if isinstance(content, list):  # parts, some of which are thoughts
        content = "".join(part["text"] for part in content if part["type"] == "text")
    said, *unfinished = _BEGINS.split(_ENDS.sub("", str(content), count=1), maxsplit=1)
    is_cut = unfinished or choice.get("finish_reason") == "length"
    return None if is_cut and not said.strip() else said


_EDGE = re.compile(r"^\W+|\W+$")


def find_said(said: str, words: Sequence[str]) -> int | None:
    """The place of the word that an answer is or begins with; None if it is no word.

    Case and what surrounds the answer ("**Billing**.") do not matter. Of two words that begin alike, the longer counts.
    """
    folded = fold(said)
    begun = [
        place
        for place, word in enumerate(map(fold, words))
        if folded.startswith(word) and not folded[len(word) : len(word) + 1].isalnum()
    ]
    return max(begun, key=lambda place: len(words[place])) if begun else None


def fold(text: str) -> str:
    return _EDGE.sub("", text).casefold() or text.strip().casefold()


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
