"""Asks classifiers for texts, batch by batch, in one thread."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from threading import Event
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.answers.models import ModelKey, Models, ModelSource, Opened
from app.answers.remote import Remote, Subject
from app.errors import AppError, Conflict, Unavailable, Unprocessable, make_internal_error
from app.logs import summarize
from app.settings import Settings
from lens_engine import errors
from lens_engine.errors import InvalidInput, UnknownModel
from lens_engine.evaluation.batches import BATCH_ROWS, Prediction, predict_rows
from lens_engine.files import TextRow
from lens_engine.model.base import LabelScorer
from lens_engine.model.limits import interrupted_by
from lens_engine.opening import open_model
from lens_engine.prompt.text_checks import find_fault, is_blank

SHORT_TEXTS = 32
"""Most texts of a short request. Short ones for one subject are computed together. A longer one is computed alone, as
the library computes a batch of a file, because bits may depend on what is computed together."""

MOST_SHORT_TEXTS = 1024
MOST_LONG = 16
"""What may wait: texts of short requests, and long requests."""

_PATIENCE_SECONDS = 5.0
"""Time after which a long request goes before short ones."""


@dataclass(frozen=True, slots=True, eq=False)
class AskedTexts:
    """A request that waits. A future that is cancelled before its texts are computed ends it."""

    subject: Subject
    texts: list[str]
    answer: "Future[list[Prediction]]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


class Waiting:
    """Bounded queues of short and long requests. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._short, self._long = deque[AskedTexts](), deque[AskedTexts]()

    def add(self, asked: AskedTexts) -> None:
        is_short = len(asked.texts) <= SHORT_TEXTS
        with self._lock:
            self._drop_cancelled()
            before = sum(len(one.texts) for one in self._short) if is_short else len(self._long)
            if before >= (MOST_SHORT_TEXTS if is_short else MOST_LONG):
                raise Unavailable(
                    "too many texts wait for an answer; repeat the request", headers={"Retry-After": "1"}, code="busy"
                )
            (self._short if is_short else self._long).append(asked)

    def seconds_to_gather(self, most: float) -> float:
        """Time for which short requests shall wait for others, `most` from the first of them on (seconds)."""
        with self._lock:
            if self._long or not self._short:
                return 0.0
            return max(0.0, self._short[0].since + most - time.monotonic())

    def take(self) -> list[AskedTexts]:
        """The requests to compute together now, which can no longer be cancelled; none if none waits."""
        with self._lock:
            self._drop_cancelled()
            if not self._short and not self._long:
                return []
            is_impatient = bool(self._long) and time.monotonic() - self._long[0].since > _PATIENCE_SECONDS
            chosen = [self._long.popleft()] if is_impatient or not self._short else self._take_short()
        return [one for one in chosen if one.answer.set_running_or_notify_cancel()]

    def _take_short(self) -> list[AskedTexts]:
        """The first short request, and others for its subject, as far as they fit into a batch."""
        first, chosen, left = self._short[0].subject, list[AskedTexts](), deque[AskedTexts]()
        room = BATCH_ROWS
        for one in self._short:
            fits = one.subject == first and len(one.texts) <= room
            (chosen if fits else left).append(one)
            room -= len(one.texts) if fits else 0
        self._short = left
        return chosen

    def _drop_cancelled(self) -> None:
        self._short, self._long = (
            deque(one for one in part if not one.answer.cancelled()) for part in (self._short, self._long)
        )


GATHER_SECONDS = 0.003
"""Time for which a short request waits for others, if nothing is computed anyway."""

_log = logging.getLogger(__name__)


class Closing(Exception):
    """The process ends: the batch under way is given up."""


class Answering:
    """Computes what is asked. One thread computes, because models are no faster with more.

    Args:
        models: that classifiers ask; None where they look at words alone.
        note_fault: is told how many batches in a row ended by an error that is no fault of theirs or of the model.
    """

    def __init__(
        self,
        models: Models | None,
        *,
        gather_seconds: float = GATHER_SECONDS,
        note_fault: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._models = models
        self._gather_seconds = gather_seconds
        self._note_fault = note_fault
        self._waiting = Waiting()
        self._computer = ThreadPoolExecutor(1, "lens-answers")
        self._closing = Event()
        self._faults = 0

    def ask(self, subject: Subject, texts: Sequence[str]) -> "Future[list[Prediction]]":
        """Begin to ask for at least one and at most 256 texts, none of them blank. Cancel it if nobody waits for it.

        The future raises an AppError, as this method does.
        """
        self._find_scorer(subject)
        asked = AskedTexts(subject, list(texts))
        self._waiting.add(asked)
        try:
            self._computer.submit(self._compute_next)
        except RuntimeError:
            raise Unavailable("the process ends; repeat the request") from None
        return asked.answer

    def close(self) -> None:
        """Give up what is computed and what waits."""
        self._closing.set()
        self._computer.shutdown(cancel_futures=True)
        for batch in iter(self._waiting.take, []):
            for asked in batch:
                self._fail(asked, Closing())
        if self._models is not None:
            self._models.close()

    def _compute_next(self) -> None:
        """Compute a batch, if one is left: each request calls for one, and may have been computed with others."""
        time.sleep(self._waiting.seconds_to_gather(self._gather_seconds))
        batch = self._waiting.take()
        if batch and not self._try(batch) and len(batch) > 1:
            for asked in batch:  # the fault of one is no fault of the others
                self._try([asked])

    def _try(self, batch: Sequence[AskedTexts]) -> bool:
        """Compute a batch. Returns False if it failed, and its requests may succeed one by one."""
        try:
            predictions = iter(self._predict(batch[0].subject, [text for one in batch for text in one.texts]))
        except Exception as error:  # noqa: BLE001 - those who wait are told
            if len(batch) > 1 and not isinstance(error, Closing):
                return False
            for asked in batch:
                self._fail(asked, error)
            return True
        self._faults = 0
        for asked in batch:
            asked.answer.set_result([next(predictions) for _ in asked.texts])
        return True

    def _predict(self, subject: Subject, texts: Sequence[str]) -> list[Prediction]:
        with self._models.computing if self._models is not None else nullcontext(), interrupted_by(self._heed_close):
            scorer = self._find_scorer(subject)
            return predict_rows(subject.classifier, [TextRow(text) for text in texts], scorer)

    def _find_scorer(self, subject: Subject) -> LabelScorer | None:
        model = subject.classifier.model
        if model is None or self._models is None:
            return None
        try:
            return self._models.find(ModelKey(model.model, model.dtype))
        except errors.LensError as error:
            raise refuse(error) from None

    def _heed_close(self) -> None:
        if self._closing.is_set():
            raise Closing

    def _fail(self, asked: AskedTexts, error: Exception) -> None:
        refusal = refuse(error)
        if refusal.status == AppError.status:
            self._faults += 1
            _log.error(
                "texts were not answered: %s", summarize(error), exc_info=error, extra={"action": "answer-failed"}
            )
            self._note_fault(self._faults)
        asked.answer.set_exception(refusal)


def refuse(error: Exception) -> AppError:
    """The error as those who ask are told, without what a server said: that may name hosts, or repeat part of a key."""
    if isinstance(error, AppError):
        return error
    if isinstance(error, Closing):
        return Unavailable("the process ends; repeat the request")
    if isinstance(error, errors.EndpointError):
        kind = Unavailable if isinstance(error, errors.EndpointAway) else Conflict
        return kind(error.sentence, code=error.code)
    if isinstance(error, errors.ModelMismatch | errors.ModelError):
        return Conflict(str(error), code=error.code)
    return Unprocessable(str(error)) if isinstance(error, errors.InvalidInput) else make_internal_error()


T = TypeVar("T")


async def unless_gone(request: Request, answer: Awaitable[T]) -> T:
    """The answer. If the client goes away first, it is cancelled. The body of the request was read before."""
    asked, gone = asyncio.ensure_future(answer), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((asked, gone), return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise ClientDisconnect
        return asked.result()
    finally:
        gone.cancel()
        asked.cancel()


class AnswersClient:
    """Asks classifiers for texts. Nothing of a text is kept or logged. Use it in one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._words = Answering(None, gather_seconds=0.0)
        self._served = dict[str, Answering]()  #: by the name of a model behind a server
        self._remote = Remote(settings.answers_addresses, settings.answers_token)

    async def ask(self, subject: Subject, texts: Sequence[str]) -> list[Prediction]:
        """One prediction for each of at most 256 texts, in order. A bad text has its error and code."""
        faults = [self._find_fault(text) for text in texts]
        good = [text for text, fault in zip(texts, faults, strict=True) if fault is None]
        found = iter(await self._ask(subject, good) if good else ())
        return [next(found) if one is None else Prediction(error=one, code=InvalidInput.code) for one in faults]

    async def close(self) -> None:
        """End what is asked, and the connections."""
        for answering in (self._words, *self._served.values()):
            await asyncio.to_thread(answering.close)
        await self._remote.close()

    def _find_fault(self, text: str) -> str | None:
        fault = "is blank; write a text" if is_blank(text) else find_fault(text, self._settings.max_text_characters)
        return None if fault is None else f"the text {fault}"

    async def _ask(self, subject: Subject, texts: Sequence[str]) -> list[Prediction]:
        model = subject.classifier.model
        if model is None:
            return await asyncio.wrap_future(self._words.ask(subject, texts))
        if model.model not in self._settings.offered_models:
            offered = ", ".join(sorted(self._settings.offered_models))
            raise Conflict(f"model {model.model!r} is no longer one of {offered}", code=UnknownModel.code)
        if model.model in self._settings.endpoints:
            if model.model not in self._served:  # each server has its own: another one may be slow
                self._served[model.model] = Answering(Models(_Servers(self._settings)))
            return await asyncio.wrap_future(self._served[model.model].ask(subject, texts))
        return await self._remote.ask(subject, texts)


class _Servers(ModelSource):
    """Opens models behind servers, after the check of each. What was answered is kept as a worker keeps it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, key: ModelKey) -> Opened:
        endpoint = self._settings.endpoints[key.name]
        kept_bytes = self._settings.pair_cache_mib << 20 or None
        model = open_model(endpoint, name=key.name, cache_dir=self._settings.cache_dir, pair_cache_bytes=kept_bytes)
        return Opened(model.scorer)
