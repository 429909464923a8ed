"""Rate limits by owner: how many requests, and how many submissions among them, in a moving window.

The counts are in Redis, for all API processes. While Redis is away, each process counts for itself, so that an outage
opens no door. No request waits for Redis longer than a quarter of a second.
"""

import asyncio
import logging
import math
import re
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import TooManyRequests
from app.pause import Pause
from app.settings import Settings
from app.web.error_handlers import problem_response
from app.web.paths import served_path

_SUBMISSION = re.compile(r"/selections(/[^/]+/(retry|resume))?")
_LONGEST_WAIT_SECONDS = 0.25
_REDIS_SECONDS = 0.1
_MOST_THREADS = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policy:
    """One limit, as `RateLimit-Policy` names it."""

    name: str
    limit: RateLimitItem

    def __str__(self) -> str:
        return f'"{self.name}";q={self.limit.amount};w={self.limit.get_expiry()}'


@dataclass(frozen=True, slots=True)
class Standing:
    """What a policy leaves to an owner after a request."""

    policy: Policy
    is_kept: bool  #: whether the request was within the limit
    remaining: int
    reset_seconds: int  #: time until a request more is allowed

    def __str__(self) -> str:
        return f'"{self.policy.name}";r={self.remaining};t={self.reset_seconds}'


class RequestCounter:
    """Counts requests in Redis, and in this process while Redis is away."""

    def __init__(self, redis_url: str) -> None:
        storage = RedisStorage(
            redis_url,
            key_prefix="lens:rate",
            socket_connect_timeout=_REDIS_SECONDS,
            socket_timeout=_REDIS_SECONDS,
            retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]
        )
        self._shared = MovingWindowRateLimiter(storage)
        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "lens-rates")
        self._pause = Pause()

    async def count(self, policies: Iterable[Policy], owner_id: str) -> list[Standing]:
        """Count one request against each policy, up to the first that refuses it."""
        asked = list(policies)
        if not self._pause.is_on:
            asking = asyncio.wrap_future(self._threads.submit(self._ask_redis, asked, owner_id))
            done, _ = await asyncio.wait({asking}, timeout=_LONGEST_WAIT_SECONDS)
            if done and (found := asking.result()) is not None:
                return found
            asking.cancel()
            self._pause.begin()
            _log.warning("Redis does not answer; this process counts requests for itself for some seconds")
        return _hit(self._own, asked, owner_id)

    def _ask_redis(self, policies: list[Policy], owner_id: str) -> list[Standing] | None:
        try:
            return _hit(self._shared, policies, owner_id)
        except RedisError:
            return None


def _hit(limiter: MovingWindowRateLimiter, policies: list[Policy], owner_id: str) -> list[Standing]:
    standings: list[Standing] = []
    for policy in policies:
        is_kept = limiter.hit(policy.limit, policy.name, owner_id)
        stats = limiter.get_window_stats(policy.limit, policy.name, owner_id)
        reset_seconds = max(1, math.ceil(stats.reset_time - time.time()))
        standings.append(Standing(policy, is_kept, max(0, stats.remaining), reset_seconds))
        if not is_kept:
            break
    return standings


class RateLimitMiddleware:
    """Answers 429 to an owner who asks too often, and tells every owner what is left (`RateLimit`).

    It stands behind the authentication. Without API keys there is one owner, who has the machine, and no limit.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._requests = None if settings.is_open else _policy("requests", settings.rate_requests)
        self._submissions = None if settings.is_open else _policy("submissions", settings.rate_submissions)
        self._counter = RequestCounter(settings.redis_url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner_id = scope.get("state", {}).get("owner_id")
        policies = self._find_policies(scope) if scope["type"] == "http" and owner_id is not None else []
        if not policies:
            await self._app(scope, receive, send)
            return
        standings = await self._counter.count(policies, owner_id)
        send = _telling(send, policies, standings)
        if standings[-1].is_kept:
            await self._app(scope, receive, send)
        else:
            refusal = _refuse(standings[-1])
            await problem_response(scope, refusal)(scope, receive, send)

    def _find_policies(self, scope: Scope) -> list[Policy]:
        is_submission = scope["method"] == "POST" and _SUBMISSION.fullmatch(served_path(scope)) is not None
        found = (self._requests, self._submissions if is_submission else None)
        return [policy for policy in found if policy is not None]


def _policy(name: str, rate: str | None) -> Policy | None:
    return None if rate is None else Policy(name, parse(rate))


def _refuse(standing: Standing) -> TooManyRequests:
    limit = standing.policy.limit
    return TooManyRequests(
        f"more than {limit.amount:,} {standing.policy.name} within {limit.get_expiry()} seconds; repeat the request "
        f"after {standing.reset_seconds} seconds",
        headers={"Retry-After": str(standing.reset_seconds)},
    )


def _telling(send: Send, policies: list[Policy], standings: list[Standing]) -> Send:
    async def send_with_limits(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["RateLimit-Policy"] = ", ".join(map(str, policies))
            headers["RateLimit"] = ", ".join(map(str, standings))
        await send(message)

    return send_with_limits
