"""Requests to one server: a thread with an event loop, so that many are under way while the caller waits."""

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, wait
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import httpx

from lens_engine.errors import EndpointAway, EndpointError
from lens_engine.model.limits import look_up
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.refusal import RequestRefused, clean_words, find_remedy, is_retried, read_retry_after
from lens_engine.model.spending import Spending

_REFUSAL_BYTES = 16 << 10
"""Largest part of an answer with another status than 200 that is read (bytes)."""

_MOST_BYTES = 8 << 20
"""Largest answer, unpacked (bytes). The largest that a server has reason to give is some 5 MiB: llama.cpp repeats eight
prompts of 128,000 tokens and lists 8,000 tokens."""

T = TypeVar("T")

Count = Callable[[Any], Mapping[str, Any] | None]
"""An answer to what the server counted, under the names of OpenAI's `usage`; None if it counted nothing."""

_ATTEMPTS = 8
_LONGEST_WAIT_SECONDS = 30.0
_LONGEST_HOLD_SECONDS = 300.0  # less than the time after which a worker without progress is killed
_LOOK_SECONDS = 0.2
_DRAIN_SECONDS = 2.0
_ANSWER_SECONDS = 180.0  # for one answer in all, however slowly it comes
_ASKED_SECONDS = 300.0  # for all attempts at one answer, without the waits between them


class Transport:
    """Sends requests to the server of an endpoint, with its key, to no other address, and through no proxy.

    `close` ends the thread.
    """

    def __init__(self, endpoint: Endpoint, spending: Spending, where: str | None = None) -> None:
        """
        Args:
            where: what errors call the server; None for its address.

        Raises:
            InvalidConfig: the variable of the key is not set.
        """
        self.where = where or f"the server at {endpoint.url}"  #: for errors
        self.retries = 0
        self._tasks: WeakKeyDictionary[Future[Any], list[asyncio.Task[Any]]] = WeakKeyDictionary()
        self._sent: set[asyncio.Task[Any]] = set()  #: those whose request is at the server
        self._spending = spending
        self._key = endpoint.read_key()
        self._url = endpoint.url
        self._most = endpoint.most_requests
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)
        self._thread.start()
        self.wait(self.start(self._open()))

    async def _open(self) -> None:
        self._slots = asyncio.Semaphore(self._most)  # not `httpx.Limits` alone: what waits reserves no money yet
        self._client = httpx.AsyncClient(
            headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {self._key}"} if self._key else {})},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # none is kept: they would fill the memory
            timeout=httpx.Timeout(120.0, connect=10.0, pool=None),
            limits=httpx.Limits(max_keepalive_connections=self._most),
            trust_env=False,  # neither proxies nor .netrc: texts and key go to this address only
            follow_redirects=False,
        )

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin a coroutine on the thread of the transport."""
        begun = list[asyncio.Task[Any]]()

        async def run() -> T:
            begun.extend(filter(None, [asyncio.current_task()]))
            return await work

        future = asyncio.run_coroutine_threadsafe(run(), self._loop)
        self._tasks[future] = begun
        return future

    def wait(self, future: "Future[T]") -> T:
        """The outcome of a coroutine; as `wait_all`."""
        (outcome,) = self.wait_all([future])
        return outcome

    def wait_all(self, futures: Sequence["Future[T]"], others: Iterable["Future[Any]"] = ()) -> list[T]:
        """The outcomes of coroutines; meanwhile the caller's `interrupted_by` is heard.

        The first failure is raised at once. Then, and after an interruption, the rest is drained, and the others too.
        """
        waiting: set[Future[T]] = set(futures)
        try:
            while waiting:
                look_up()
                done, waiting = wait(waiting, timeout=_LOOK_SECONDS, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            return [future.result() for future in futures]
        except CancelledError:
            raise EndpointError(f"{self.where} was closed while it was asked") from None
        except BaseException:
            self.drain([*waiting, *others])
            raise

    def drain(self, futures: Iterable["Future[Any]"]) -> None:
        """End coroutines: send no more, but let what was sent come back, for seconds, because it is paid."""
        left = [future for future in futures if not future.done()]
        for future in left:
            if not self._sent.intersection(self._tasks.get(future, ())):
                future.cancel()
        wait(left, timeout=_DRAIN_SECONDS)
        for future in left:
            future.cancel()

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON object at `path`; as `post`."""
        return await self._ask("GET", path, None)  # type: ignore[no-any-return]

    async def post(
        self, path: str, body: Mapping[str, Any], *, tokens: int = 0, written: int = 0, count: Count | None = None
    ) -> Any:
        """The JSON object or array that answers a request.

        Args:
            tokens: number of tokens of its prompts, for the reservation of what it may cost; 0 for a request that
                asks no model, which is not counted.
            written: number of tokens that the model may write.
            count: finds what the server counted, as `usage` of OpenAI's API has it; None to read that.

        Raises:
            BudgetSpent: the limit on the cost does not leave enough.
            EndpointAway: no answer after all attempts.
            RequestRefused: the server refuses the request.
            EndpointError: it answers with something else than a JSON object.
        """
        usd, asked = self._spending.estimate(tokens, written), json.dumps(body).encode()
        return await self._ask("POST", path, asked, usd, (count or _read_usage) if tokens else None)

    async def _ask(
        self, method: str, path: str, body: bytes | None, usd: float = 0.0, count: Count | None = None
    ) -> Any:
        """`count` is None for a request that is not counted.

        A request keeps its slot while it waits: the more requests a server refuses, the fewer it gets.
        """
        problem, said, hold, asked_seconds = "", "", 0.0, 0.0
        async with self._slots:
            for attempt in range(_ATTEMPTS):
                if attempt:
                    self.retries += 1
                    # At least half of the wait: then a server that is away for half a minute is waited for.
                    longest = min(_LONGEST_WAIT_SECONDS, 2.0 ** (attempt - 1))
                    await asyncio.sleep(max(hold, random.uniform(longest / 2, longest)))
                self._spending.reserve(usd)
                # Until it is known otherwise, what was sent is paid, also if its answer is lost on the way.
                is_paid, usage, began = count is not None, None, time.monotonic()
                try:
                    response, content = await self._send(method, path, body)
                    if response.status_code == httpx.codes.OK:
                        found = self._parse(content, path)
                        usage = count and count(found)
                        return found
                    is_paid = False
                    problem, said, hold = self._note_refusal(response, content, path)
                except (httpx.RequestError, TimeoutError) as error:
                    is_paid = is_paid and not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                    problem, said, hold = type(error).__name__, "", 0.0
                finally:
                    self._spending.settle(usd, usage, is_paid=is_paid)
                asked_seconds += time.monotonic() - began
                if asked_seconds > _ASKED_SECONDS:
                    break
        raise EndpointAway(f"{self.where} does not answer: {problem}, after {attempt + 1} attempts", said=said)

    async def _send(self, method: str, path: str, body: bytes | None) -> tuple[httpx.Response, bytes]:
        """An answer and its content; of a refusal at least the beginning."""
        headers, content = {"Content-Type": "application/json"}, bytearray()
        (task,) = filter(None, [asyncio.current_task()])
        self._sent.add(task)
        try:
            async with (
                asyncio.timeout(_ANSWER_SECONDS),
                self._client.stream(method, self._url + path, content=body, headers=headers) as response,
            ):
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > (_MOST_BYTES if response.is_success else _REFUSAL_BYTES):
                        break
            return response, bytes(content)
        finally:
            self._sent.discard(task)

    def _parse(self, content: bytes, path: str) -> Any:
        if len(content) > _MOST_BYTES:
            raise EndpointError(f"{self.where} answers with more than {_MOST_BYTES >> 20} MiB, which no answer needs")
        try:
            found = json.loads(content)
        except (ValueError, RecursionError, MemoryError):  # lists in lists, 100,000 deep, are a RecursionError
            found = None
        if not found or not isinstance(found, dict | list):
            raise EndpointError(f"{self.where} answers {path} with something that is no JSON object")
        return found

    def _note_refusal(self, response: httpx.Response, content: bytes, path: str) -> tuple[str, str, float]:
        """The status of a refusal, what the server said, and the wait that it asks for, if it may be asked again."""
        reason = content[:_REFUSAL_BYTES].decode(errors="replace")
        status, said = response.status_code, self.clean(reason)
        if not is_retried(status, reason):
            remedy = find_remedy(status, path, reason)
            if response.is_redirect:
                remedy = "; Lens follows no redirect: give the address itself"
            sentence = f"{self.where} refuses {path} with status {status}{remedy}"
            raise RequestRefused(sentence, said=said, status=status, reason=reason)
        hold = read_retry_after(response.headers.get("Retry-After"))
        if hold > _LONGEST_HOLD_SECONDS:
            raise EndpointAway(f"{self.where} wants no request for {hold:.0f} s (status {status})", said=said)
        return f"status {status}", said, hold

    def clean(self, said: object) -> str:
        """What the server says, as a log or a result may show it."""
        return clean_words(said, self._key)

    def close(self) -> None:
        """End the thread; requests under way are dropped."""
        if not self._thread.is_alive():
            return
        self.start(self._end()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_DRAIN_SECONDS)  # each closes its connection
        await self._client.aclose()


def _read_usage(answer: Any) -> Mapping[str, Any] | None:
    usage = answer.get("usage") if isinstance(answer, dict) else None
    return usage if isinstance(usage, dict) else None
