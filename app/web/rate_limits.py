"""Rate limits by owner: how many requests, and how many submissions among them, in a moving window.

Routes name their limits as dependencies: no path is counted otherwise than it is routed. The counts are in Redis,
for all API processes. While Redis is away, each process counts for itself, so that an outage opens no door.
"""

import logging
import math
import time
from dataclasses import dataclass
from typing import Literal

from fastapi import Depends, Request
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
from app.web.authentication import LOCAL_OWNER

PolicyName = Literal["requests", "submissions"]

_REDIS_SECONDS = 0.1
_STANDINGS = "rate_standings"
"""Name of a request's standings in its state."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policy:
    """One limit, as `RateLimit-Policy` names it."""

    name: PolicyName
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


class RateLimits:
    """Counts requests in Redis, and in this process while Redis is away.

    The owner of an open service has the machine, and no limit.
    """

    def __init__(self, settings: Settings) -> None:
        storage = RedisStorage(
            settings.redis_url,
            key_prefix="lens:rate",
            socket_connect_timeout=_REDIS_SECONDS,
            socket_timeout=_REDIS_SECONDS,
            retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]
        )
        rates: dict[PolicyName, str | None] = {
            "requests": settings.rate_requests,
            "submissions": settings.rate_submissions,
        }
        self._policies = {name: Policy(name, parse(rate)) for name, rate in rates.items() if rate is not None}
        self._sole_owner = LOCAL_OWNER if settings.is_open else None
        self._shared = MovingWindowRateLimiter(storage)
        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._pause = Pause()

    def count(self, name: PolicyName, owner_id: str) -> Standing | None:
        """Count one request. None without such a limit."""
        policy = self._policies.get(name)
        if policy is None or owner_id == self._sole_owner:
            return None
        if not self._pause.is_on:
            try:
                return _hit(self._shared, policy, owner_id)
            except RedisError:
                self._pause.begin()
                _log.warning("Redis does not answer; this process counts requests for itself for some seconds")
        return _hit(self._own, policy, owner_id)


def _hit(limiter: MovingWindowRateLimiter, policy: Policy, owner_id: str) -> Standing:
    is_kept = limiter.hit(policy.limit, policy.name, owner_id)
    stats = limiter.get_window_stats(policy.limit, policy.name, owner_id)
    reset_seconds = max(1, math.ceil(stats.reset_time - time.time()))
    return Standing(policy, is_kept, max(0, stats.remaining), reset_seconds)


def count_request(request: Request) -> None:
    """Count a request of an owner.

    Raises:
        TooManyRequests: the owner asks too often.
    """
    _count(request, "requests")


def count_submission(request: Request) -> None:
    """Count a request that queues a run.

    Raises:
        TooManyRequests: the owner asks for too many runs.
    """
    _count(request, "submissions")


RATE_LIMIT, SUBMISSION_LIMIT = Depends(count_request), Depends(count_submission)


def _count(request: Request, name: PolicyName) -> None:
    limits: RateLimits = request.app.state.rate_limits
    standing = limits.count(name, request.state.owner_id)
    if standing is None:
        return
    request.scope["state"].setdefault(_STANDINGS, []).append(standing)
    if not standing.is_kept:
        raise _refuse(standing)


class RateLimitHeaders:
    """Tells an owner the limits of a route, and what is left (`RateLimit`), in every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_limits(message: Message) -> None:
            standings: list[Standing] = scope.get("state", {}).get(_STANDINGS, [])
            if message["type"] == "http.response.start" and standings:
                headers = MutableHeaders(scope=message)
                headers["RateLimit-Policy"] = ", ".join(str(standing.policy) for standing in standings)
                headers["RateLimit"] = ", ".join(map(str, standings))
            await send(message)

        await self._app(scope, receive, send_with_limits)


def _refuse(standing: Standing) -> TooManyRequests:
    limit = standing.policy.limit
    return TooManyRequests(
        f"more than {limit.amount:,} {standing.policy.name} within {limit.get_expiry()} seconds; repeat the request "
        f"after {standing.reset_seconds} seconds",
        headers={"Retry-After": str(standing.reset_seconds)},
    )
