"""How the service is asked: again where it is busy, under an Idempotency-Key, by ETag, page by page."""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx

from lens_client.calls import File, leave_none_out, make_submission
from lens_client.errors import Problem, Unreachable
from lens_client.models import Answer

A = TypeVar("A", bound=Answer)

_WAITS = (1.0, 2.0, 4.0, 8.0)  #: between the tries (seconds), where the service names no time
_LONGEST_WAIT = 30.0
_MOST_KEPT = 256
_MOST_BYTES_KEPT = 2**20


class AsyncConnection:
    """Asks the service over an HTTP client. Answers with an ETag are kept, and asked for again by it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._kept: OrderedDict[str, httpx.Response] = OrderedDict()

    async def ask(self, method: str, path: str, *, is_repeatable: bool = True, **arguments: Any) -> httpx.Response:
        """Send a request, again after `Retry-After` where the service is busy or away.

        Args:
            is_repeatable: whether a request whose answer was lost may be sent again.
            arguments: of `httpx.AsyncClient.request`.

        Raises:
            Problem: the service refuses.
            Unreachable: it did not answer.
        """
        for wait in (*_WAITS, None):
            try:
                answer = await self._http.request(method, path, **arguments)
            except httpx.RequestError as error:
                if wait is None or not (is_repeatable or isinstance(error, httpx.ConnectError)):
                    raise Unreachable(f"{method} {path}: {error or type(error).__name__}") from error
            else:
                if answer.is_success or answer.status_code == 304:
                    return answer
                problem = Problem(answer)
                is_busy = problem.status == 429 or (problem.status == 503 and is_repeatable)
                if wait is None or not (is_busy or problem.code == "idempotency-in-flight"):
                    raise problem
                wait = min(wait if problem.retry_after is None else problem.retry_after, _LONGEST_WAIT)
            await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    async def ask_as(self, kind: type[A], method: str, path: str, **arguments: Any) -> A:
        """The answer to `ask`, typed."""
        answer = await self.ask(method, path, **arguments)
        return kind.model_validate_json(answer.content)

    async def read(self, path: str, **params: Any) -> httpx.Response:
        """GET, with the ETag of the answer that is kept; the kept answer if it still holds."""
        given = leave_none_out(params)
        key = str(httpx.URL(path, params=given))
        known = self._kept.get(key)
        headers = {} if known is None else {"If-None-Match": known.headers["ETag"]}
        answer = await self.ask("GET", path, params=given, headers=headers)
        if answer.status_code == 304 and known is not None:
            self._kept.pop(key, None)  # another thread may have forgotten it
            self._kept[key] = known
            return known
        if "ETag" in answer.headers and len(answer.content) <= _MOST_BYTES_KEPT:
            self._kept[key] = answer
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return answer

    async def read_as(self, kind: type[A], path: str, **params: Any) -> A:
        answer = await self.read(path, **params)
        return kind.model_validate_json(answer.content)

    async def read_json(self, path: str, **params: Any) -> dict[str, Any]:
        answer = await self.read(path, **params)
        return dict(answer.json())

    async def read_bytes(self, path: str, **params: Any) -> bytes:
        answer = await self.read(path, **params)
        return answer.content

    async def read_pages(self, kind: type[A], path: str, most: int | None = None, **params: Any) -> list[A]:
        """The items of all pages, or the first `most`."""
        found: list[A] = []
        cursor = None
        while most is None or len(found) < most:
            page = await self.read_json(path, cursor=cursor, **params)
            found += [kind.model_validate(item) for item in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        return found[:most]

    async def submit(
        self,
        kind: type[A],
        path: str,
        files: Mapping[str, File | None],
        parts: Mapping[str, Any],
        idempotency_key: str | None = None,
    ) -> A:
        """Submit files, or the JSON of `parts`, under a key, so that a repeat makes no second job."""
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return await self.ask_as(kind, "POST", path, headers=headers, **make_submission(files, parts))
