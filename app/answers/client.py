"""What the API asks: words and models behind servers in this process, all other models in `lens answers`."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.answers.answering import Answering
from app.answers.models import ModelKey, Models, ModelSource, Opened
from app.answers.remote import Remote, Subject
from app.errors import Conflict
from app.settings import Settings
from lens_engine.errors import InvalidInput, UnknownModel
from lens_engine.evaluation.batches import Prediction
from lens_engine.opening import open_model
from lens_engine.prompt.text_checks import find_fault, is_blank

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
            return await asyncio.wrap_future(self._find_served(model.model).ask(subject, texts))
        return await self._remote.ask(subject, texts)

    def _find_served(self, name: str) -> Answering:
        """What asks one server: another one may be slow."""
        if name not in self._served:
            self._served[name] = Answering(Models(_Servers(self._settings)))
        return self._served[name]


class _Servers(ModelSource):
    """Opens models behind servers, after the check of each. What was answered is kept as a worker keeps it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, key: ModelKey) -> Opened:
        endpoint = self._settings.endpoints[key.name]
        kept_bytes = self._settings.pair_cache_mib << 20 or None
        model = open_model(endpoint, name=key.name, cache_dir=self._settings.cache_dir, pair_cache_bytes=kept_bytes)
        return Opened(model.scorer)
