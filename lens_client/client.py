# Made from lens_client/async_client.py by `python .ci/blocking_client.py`: change that file, and run the command.
"""The client."""

from typing import Any, Self

import httpx

from lens_client.connection import Connection
from lens_client.resources import Datasets, Prompts, Selections

_TIMEOUT = httpx.Timeout(30.0, write=300.0, read=300.0)  #: a large upload may be validated after others (seconds)


class LensClient:
    """A client of the service.

    Args:
        url: address of the service.
        api_key: None for a service without keys.
        options: of `httpx.Client`, such as `timeout`, `verify` or `transport`.

    Raises:
        ValueError: the address does not begin with http:// or https://.
    """

    def __init__(self, url: str, *, api_key: str | None = None, **options: Any) -> None:
        if not url.lower().startswith(("http://", "https://")):
            raise ValueError(f"the address {url!r} has no protocol; write http:// or https:// before it")
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._http = httpx.Client(base_url=url, headers=headers, **{"timeout": _TIMEOUT, **options})
        self._connection = Connection(self._http)
        self.selections, self.prompts = Selections(self._connection), Prompts(self._connection)
        self.datasets = Datasets(self._connection)

    def models(self) -> list[dict[str, Any]]:
        """The models that the service offers."""
        answer = self._connection.read_json("/models")
        return list(answer["items"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()
