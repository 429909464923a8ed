"""Rings for a selection after the answer to its request, so that no client waits for Redis."""

import asyncio

from starlette.background import BackgroundTask

from app.queue import Doorbell
from app.services import Services


def ringing(services: Services, doorbell: Doorbell | None) -> BackgroundTask | None:
    """Build the task that rings. It takes none of the threads that answer requests."""
    return None if doorbell is None else BackgroundTask(_ring, services, doorbell)


async def _ring(services: Services, doorbell: Doorbell) -> None:
    await asyncio.wrap_future(services.ringers.submit(services.queue.ring, doorbell))
