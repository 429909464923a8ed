"""What it means that a server refuses a request: whether it may be asked again, and what it refuses."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from lens_engine.errors import EndpointError
from lens_engine.model.limits import ASK_FOR_ANSWERS

_RETRIED, _NEVER = {408, 409, 425, 429}, {501}  # 5xx is tried again too
_FATAL = re.compile(
    r"insufficient_quota"  # 429 of an account without money
    r"|system role|roles must alternate|jinja|chat.?template|template error",  # 500 of a chat template
    re.IGNORECASE,
)
_REMEDIES = {
    401: "the key is missing or wrong; name the environment variable that holds it",
    403: "the key may not use this model",
    404: "the address or the name of the model is wrong",
}
_OF_CHATS = {
    "between .*top_logprobs|top_logprobs.* (between|most|less|exceed)": "if it lists fewer tokens, set extra = { "
    f"top_logprobs = 5 }}, or {ASK_FOR_ANSWERS}",
    "logprob": f"it gives no such log-probabilities: {ASK_FOR_ANSWERS}",
    "system role|roles must alternate|messages.0.role": "it takes no system message; give the server a chat template "
    "that does, or ask vLLM or llama.cpp as such (docs/servers.md)",
    "max_tokens.*support": "set extra = { max_completion_tokens = 24 }, or 2000 for a model that reasons "
    "(docs/servers.md)",
    "temperature.*support": 'leave it out with "extra": {"temperature": null} in a JSON file (docs/servers.md)',
}
"""What helps, by what a chat API says as it refuses a request."""

_CONTENT_STATUS = {400, 403, 422, 451}
_CONTENT = re.compile(
    r"content.?(filter|policy|management|moderation|violation|exists risk)|(prohibited|inappropriate).content"
    r"|(prompt|input|content|message)s?\b.{0,30}\bflagged|moderation|guardrail|safety|responsible.?ai|data.?inspection"
    r"|usage polic",
    re.IGNORECASE,
)


class RequestRefused(EndpointError):
    """A server refuses a request, and would refuse it again.

    `reason` is what it said as it is: no log or result may show it.
    """

    def __init__(self, sentence: str, *, said: str, status: int, reason: str) -> None:
        super().__init__(sentence, said=said)
        self.status, self.reason = status, reason
        self.is_for_content = status in _CONTENT_STATUS and is_about_content(reason)  #: another may be answered


def is_about_content(reason: str) -> bool:
    return _CONTENT.search(reason) is not None


def is_retried(status: int, reason: str) -> bool:
    """Whether the same request may be answered later."""
    return (status in _RETRIED or (status >= 500 and status not in _NEVER)) and not _FATAL.search(reason)


def find_remedy(status: int, path: str, reason: str) -> str:
    """What helps, after a semicolon; "" if that is not known."""
    remedy = _REMEDIES.get(status)
    if path == "/chat/completions":
        found = (advice for pattern, advice in _OF_CHATS.items() if re.search(pattern, reason, re.IGNORECASE))
        remedy = next(found, remedy)
    return f"; {remedy}" if remedy else ""


def read_retry_after(value: str | None) -> float:
    """Seconds of a header `Retry-After`, which has seconds or a date (RFC 9110, section 10.2.3); 0 without one."""
    if not value:
        return 0.0
    try:
        seconds = float(value)
        return seconds if seconds > 0 else 0.0  # also for NaN
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(value).astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):  # no date, or one beyond the year 9999
        return 0.0


_MOST_CHARACTERS = 300
_READ_CHARACTERS = 4 * _MOST_CHARACTERS
_PIECE = 5
"""Characters of a key that give it away. Some servers repeat the beginning and the end of a wrong key."""

_WORD = re.compile(r"[^\s\"'`,;:()\[\]{}<>]+")
_SECRET = re.compile(r"\b(sk|pk|rk|hf|gsk|xai|nvapi|key|token)[-_][\w*.-]{8,}|\*{2,}", re.IGNORECASE)
"""A key as vendors write it (sk-…, hf_…), and a word that the server has masked in part."""

_BEARER = re.compile(r"\b(bearer|basic)\s+\S+", re.IGNORECASE)


def clean_words(said: object, key: str | None = None) -> str:
    """The beginning of what a server says. Words with a part of its key are masked."""
    text = _write(said)[:_READ_CHARACTERS]
    if key:
        text = text.replace(key, "[key]")
    text = _BEARER.sub(r"\1 [key]", text)
    pieces = set(_cut(key or ""))
    text = _WORD.sub(lambda word: "[key]" if _is_secret(word.group(), pieces) else word.group(), text)
    return _make_printable(text)


def read_name(said: object) -> str | None:
    """The beginning of a name or version that tells what a server runs; None if it says none.

    Nothing is masked: a name may look like a key, and two models must not get one name.
    """
    return None if said is None else _make_printable(_write(said))


def _write(said: object) -> str:
    is_plain = said is None or isinstance(said, str | int | float)
    return str(said if is_plain else type(said).__name__)


def _make_printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text[:_MOST_CHARACTERS]).strip()


def _is_secret(word: str, pieces: set[str]) -> bool:
    return word != "[key]" and (_SECRET.search(word) is not None or any(piece in pieces for piece in _cut(word)))


def _cut(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(len(text) - _PIECE + 1))
