"""The client."""

from typing import Any, Self

import httpx

from lens_client.async_connection import AsyncConnection
from lens_client.async_resources import AsyncDatasets, AsyncPrompts, AsyncSelections

_TIMEOUT = httpx.Timeout(30.0, write=300.0, read=300.0)  #: a large upload may be validated after others (seconds)


class AsyncLensClient:
    """A client of the service.

    Args:
        url: address of the service.
        api_key: None for a service without keys.
        options: of `httpx.AsyncClient`, such as `timeout`, `verify` or `transport`.

    Raises:
        ValueError: the address does not begin with http:// or https://.
    """

    def __init__(self, url: str, *, api_key: str | None = None, **options: Any) -> None:
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError(f"the address {url!r} has no protocol; write http:// or https:// before it")
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, **{"timeout": _TIMEOUT, **options})
        self._connection = AsyncConnection(self._http)
        self.selections, self.prompts = AsyncSelections(self._connection), AsyncPrompts(self._connection)
        self.datasets = AsyncDatasets(self._connection)

    async def models(self) -> list[dict[str, Any]]:
        """The models that the service offers."""
        answer = await self._connection.read_json("/models")
        return list(answer["items"])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()
