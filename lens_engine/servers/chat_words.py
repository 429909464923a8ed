"""The label words of a chat whose tokenizer is not known: does the first token of an answer tell the label?"""

from collections.abc import Mapping, Sequence

from lens_engine.errors import InvalidVerbalizer
from lens_engine.task.chat import MOST_LETTERS, Turn, instruct

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

    Raises:
        InvalidVerbalizer: the words must be replaced, and there are more of them than letters.
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
