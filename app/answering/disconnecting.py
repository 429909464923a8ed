"""An answer that is given up when its client goes away."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def unless_gone(request: Request, answer: Awaitable[T]) -> T:
    """The answer. If the client goes away first, it is cancelled. The body of the request was read before.

    Raises:
        ClientDisconnect: the client went away.
    """
    asked, gone = asyncio.ensure_future(answer), asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait((asked, gone), return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise ClientDisconnect
        return asked.result()
    finally:
        gone.cancel()
        asked.cancel()
