"""Classifiers that are asked, under the SHA-256 of their JSON, and the processes that hold weights, asked over HTTP."""

import asyncio
import hashlib
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import httpx
from pydantic import TypeAdapter, ValidationError

from app.errors import TITLES, AppError, Conflict, Unavailable, Unprocessable
from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.batches import Prediction
from lens_engine.prompt.pool import Pool

_ROW_BYTES = 700
"""What the objects of a row of a pool take besides its text, measured."""

_PARSED = 4
"""What a classifier takes without its pool, in sizes of its JSON: text, numbers as objects and as arrays."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A classifier that is asked. Equal classifiers are one subject."""

    digest: str  #: SHA-256 of `content` (hex)
    content: bytes = field(repr=False, compare=False)  #: the classifier as JSON
    classifier: Classifier = field(repr=False, compare=False)

    @classmethod
    def of(cls, classifier: Classifier) -> Self:
        content = classifier.model_dump_json().encode()
        return cls(hashlib.sha256(content).hexdigest(), content, classifier)

    @classmethod
    def read(cls, content: bytes) -> Self:
        """The subject of a classifier's JSON, with the index of its pool."""
        classifier = Classifier.model_validate_json(content)
        if classifier.retrieval is not None:
            _ = classifier.retrieval.index
        return cls(hashlib.sha256(content).hexdigest(), content, classifier)


def weigh_subject(subject: Subject) -> int:
    """Memory that a subject takes (bytes), estimated. An index counts once it is made."""
    retrieval = subject.classifier.retrieval
    pool_bytes = weigh_pool(retrieval.pool) if retrieval is not None and retrieval.pool.indexes else 0
    return _PARSED * len(subject.content) + pool_bytes


def weigh_pool(pool: Pool) -> int:
    """Memory that a pool takes with its indexes; that of its words is made if it has none (bytes), estimated."""
    texts = sum(sys.getsizeof(row.text) for row in pool.rows)
    return texts + _ROW_BYTES * len(pool.examples) + sum(one.num_bytes for one in pool.indexes.values() or [pool.index])


PREDICTIONS = TypeAdapter(list[Prediction])
"""What a process answers."""

_TIMES = httpx.Timeout(300.0, connect=2.0, pool=5.0)
_CONNECTIONS = httpx.Limits(max_connections=512, max_keepalive_connections=64, keepalive_expiry=30.0)
_AWAY_SECONDS = 5.0
"""Time for which a process that did not answer is asked last."""

_PASSED_ON: dict[int, type[AppError]] = {409: Conflict, 422: Unprocessable, 503: Unavailable}
"""Refusals that are those of the API as well, by status."""

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
        for address in self._rank(subject.digest):
            try:
                return await self._ask_one(address, subject, texts)
            except httpx.PoolTimeout:
                raise Unavailable("too many requests wait for an answer; repeat the request", code="busy") from None
            except httpx.TransportError as error:
                self._away[address] = time.monotonic() + _AWAY_SECONDS
                _log.warning("%s does not answer (%s)", address, type(error).__name__, extra={"action": "answers-away"})
        raise Unavailable(f"no process that answers at once can be reached; {_ADVICE}", code="answers-away")

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
            raise Unavailable("too many classifiers are asked at once; repeat the request", code="busy")
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
    """The content of a success."""
    if answer.is_success:
        return answer.content
    found = answer.json() if answer.headers.get("Content-Type") == "application/problem+json" else {}
    kind, code = _PASSED_ON.get(answer.status_code), found.get("code")
    if kind is None or code not in TITLES:
        raise _refused(address, f"status {answer.status_code}")
    seconds = answer.headers.get("Retry-After")
    raise kind(found["detail"], code=code, headers=seconds and {"Retry-After": seconds})


def _refused(address: str, what: str) -> Unavailable:
    _log.error("%s refuses to be asked: %s", address, what, extra={"action": "answers-refused"})
    return Unavailable(
        "the process that answers at once refuses to be asked; its log and that of the API say why", code="answers-away"
    )
