"""Enqueues a job after the answer to its request, so that no client waits for Redis."""

import asyncio

from starlette.background import BackgroundTask

from app.queue import JobId
from app.services import Services


def enqueueing(services: Services, job_id: JobId | None) -> BackgroundTask | None:
    """Build the task that enqueues. It takes none of the threads that answer requests."""
    return None if job_id is None else BackgroundTask(_enqueue, services, job_id)


async def _enqueue(services: Services, job_id: JobId) -> None:
    await asyncio.wrap_future(services.enqueuers.submit(services.queue.enqueue, job_id))
