"""The clients: each runs flows over an HTTP client of httpx."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Self, TypeVar

import httpx

from lens_client.async_jobs import AsyncEvaluations, AsyncPredictions, AsyncSelections
from lens_client.async_resources import AsyncDatasets, AsyncPrompts
from lens_client.calls import Call, Flow, Pause
from lens_client.flows import Flows
from lens_client.jobs import Evaluations, Predictions, Selections
from lens_client.models import Usage
from lens_client.resources import Datasets, Prompts

T = TypeVar("T")

_TIMEOUT = httpx.Timeout(30.0, write=300.0, read=300.0)
"""A large upload may be validated after others (seconds)."""


class LensClient:
    """A client of the service.

    Args:
        url: address of the service.
        api_key: None for a service without keys.
        options: of `httpx.Client`, such as `timeout`, `verify` or `transport`.
    """

    def __init__(self, url: str, *, api_key: str | None = None, **options: Any) -> None:
        self._http = httpx.Client(base_url=url, headers=_headers(api_key), **{"timeout": _TIMEOUT, **options})
        flows = Flows()
        self.selections, self.prompts = Selections(flows, self._run), Prompts(flows, self._run)
        self.evaluations, self.predictions = Evaluations(flows, self._run), Predictions(flows, self._run)
        self.datasets, self._flows = Datasets(flows, self._run), flows

    def models(self) -> list[dict[str, Any]]:
        """The models that the service offers."""
        return self._run(self._flows.list_models())

    def usage(self) -> Usage:
        """What you have stored and under way, and the limits of both."""
        return self._run(self._flows.read_as(Usage, "/usage"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _run(self, flow: Flow[T], /) -> T:
        try:
            step = next(flow)
            while True:
                try:
                    answer = self._take(step)
                except httpx.TransportError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as ended:
            found: T = ended.value
            return found

    def _take(self, step: Call | Pause) -> Any:
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        return self._http.request(step.method, step.path, **step.arguments)


class AsyncLensClient:
    """A client of the service for asyncio; see `LensClient`. `options` are those of `httpx.AsyncClient`."""

    def __init__(self, url: str, *, api_key: str | None = None, **options: Any) -> None:
        self._http = httpx.AsyncClient(base_url=url, headers=_headers(api_key), **{"timeout": _TIMEOUT, **options})
        flows = Flows()
        self.selections, self.prompts = AsyncSelections(flows, self._run), AsyncPrompts(flows, self._run)
        self.evaluations, self.predictions = AsyncEvaluations(flows, self._run), AsyncPredictions(flows, self._run)
        self.datasets, self._flows = AsyncDatasets(flows, self._run), flows

    async def models(self) -> list[dict[str, Any]]:
        """As `LensClient.models`."""
        return await self._run(self._flows.list_models())

    async def usage(self) -> Usage:
        """As `LensClient.usage`."""
        return await self._run(self._flows.read_as(Usage, "/usage"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _run(self, flow: Flow[T], /) -> T:
        try:
            step = next(flow)
            while True:
                try:
                    answer = await self._take(step)
                except httpx.TransportError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as ended:
            found: T = ended.value
            return found

    async def _take(self, step: Call | Pause) -> Any:
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        return await self._http.request(step.method, step.path, **step.arguments)


def _headers(api_key: str | None) -> Mapping[str, str]:
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
