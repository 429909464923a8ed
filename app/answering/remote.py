"""The processes that hold weights, asked over HTTP: one for each subject while it answers, else the next."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Sequence

import httpx
from pydantic import TypeAdapter, ValidationError

from app.answering.subjects import Subject
from app.errors import (
    AnswersAway,
    AppError,
    Busy,
    ModelLoading,
    ModelMismatch,
    ModelUnusable,
    Unavailable,
    Unprocessable,
)
from app.problems import TITLES
from lens_engine.evaluation.batches import Prediction

PREDICTIONS = TypeAdapter(list[Prediction])
"""What a process answers."""

_TIMES = httpx.Timeout(300.0, connect=2.0, pool=5.0)
_CONNECTIONS = httpx.Limits(max_connections=512, max_keepalive_connections=64, keepalive_expiry=30.0)
_AWAY_SECONDS = 5.0
"""Time for which a process that did not answer is asked last."""

_PASSED_ON = (409, 422, 503)
"""Statuses of refusals that are those of the API as well."""

_KINDS: dict[str, type[AppError]] = {
    kind.code: kind for kind in (Busy, ModelLoading, ModelMismatch, Unavailable, Unprocessable)
}
_ADVICE = "start `lens answers`, and name its address in LENS_ANSWERS_ADDRESSES"

_log = logging.getLogger(__name__)


class Remote:
    """The processes at some addresses. Use it in one event loop."""

    def __init__(self, addresses: Sequence[str], token: str | None) -> None:
        self._addresses = addresses
        self._client = httpx.AsyncClient(
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            timeout=_TIMES,
            limits=_CONNECTIONS,
            trust_env=False,
        )
        self._away = dict[str, float]()  #: until when (time.monotonic)
        self._sending = dict[tuple[str, str], asyncio.Task[None]]()

    async def ask(self, subject: Subject, texts: Sequence[str]) -> list[Prediction]:
        """
        Raises:
            AnswersAway: no process answers.
            AppError: what the process refused.
        """
        for address in self._rank(subject.digest):
            try:
                return await self._ask_one(address, subject, texts)
            except httpx.PoolTimeout:
                raise Busy("too many requests wait for an answer; repeat the request") from None
            except httpx.TransportError as error:
                self._away[address] = time.monotonic() + _AWAY_SECONDS
                _log.warning("%s does not answer (%s)", address, type(error).__name__, extra={"action": "answers-away"})
        raise AnswersAway(f"no process that answers at once can be reached; {_ADVICE}")

    async def close(self) -> None:
        await self._client.aclose()

    def _rank(self, digest: str) -> list[str]:
        """The addresses in the order in which they are asked: each subject has its own, and those away are last."""

        def rank(address: str) -> tuple[bool, bytes]:
            is_away = self._away.get(address, 0.0) > time.monotonic()
            return is_away, hashlib.sha256(f"{digest} {address}".encode()).digest()

        return sorted(self._addresses, key=rank)

    async def _ask_one(self, address: str, subject: Subject, texts: Sequence[str]) -> list[Prediction]:
        url = f"{address}/subjects/{subject.digest}/answers"
        answer = await self._client.post(url, json={"texts": texts})
        if answer.status_code == httpx.codes.NOT_FOUND:  # it started anew, or others needed the room
            await self._send(address, subject)
            answer = await self._client.post(url, json={"texts": texts})
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise Busy("too many classifiers are asked at once; repeat the request")
        try:
            return PREDICTIONS.validate_json(_content(answer, address))
        except ValidationError:
            raise _refused(address, "an answer of another form") from None

    async def _send(self, address: str, subject: Subject) -> None:
        """Send the subject, once for all who ask for it meanwhile."""
        key = address, subject.digest
        if key not in self._sending:
            self._sending[key] = asyncio.create_task(self._put(address, subject))
            self._sending[key].add_done_callback(lambda sent: self._sending.pop(key) and sent.exception())
        await asyncio.shield(self._sending[key])

    async def _put(self, address: str, subject: Subject) -> None:
        url, headers = f"{address}/subjects/{subject.digest}", {"Content-Type": "application/json"}
        _content(await self._client.put(url, content=subject.content, headers=headers), address)


def _content(answer: httpx.Response, address: str) -> bytes:
    """The content of a success.

    Raises:
        AppError: the refusal of the process, or `AnswersAway` for what only its operator can mend.
    """
    if answer.is_success:
        return answer.content
    found = answer.json() if answer.headers.get("Content-Type") == "application/problem+json" else {}
    if answer.status_code not in _PASSED_ON or found.get("code") not in TITLES:
        raise _refused(address, f"status {answer.status_code}")
    if (kind := _KINDS.get(found["code"])) is None:
        raise ModelUnusable(found["code"], found["detail"], answer.status_code)
    seconds = answer.headers.get("Retry-After")
    raise kind(found["detail"], headers=seconds and {"Retry-After": seconds})


def _refused(address: str, what: str) -> AnswersAway:
    _log.error("%s refuses to be asked: %s", address, what, extra={"action": "answers-refused"})
    return AnswersAway("the process that answers at once refuses to be asked; its log and that of the API say why")
