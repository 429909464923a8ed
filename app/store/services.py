"""What every part of the service stands on: settings, database and queue of one process."""

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

from starlette.background import BackgroundTask

from app.settings import Settings
from app.store.database import Database
from app.store.queue import JobId, JobQueue


@dataclass(frozen=True, slots=True)
class Services:
    """Settings, database and queue of one process."""

    settings: Settings
    database: Database
    queue: JobQueue
    enqueuers: Executor = field(default_factory=lambda: ThreadPoolExecutor(2, "lens-enqueue"))  #: after the answers


def enqueueing(services: Services, job_id: JobId | None) -> BackgroundTask | None:
    """Build the task that enqueues. It takes none of the threads that answer requests."""
    return None if job_id is None else BackgroundTask(_enqueue, services, job_id)


async def _enqueue(services: Services, job_id: JobId) -> None:
    await asyncio.wrap_future(services.enqueuers.submit(services.queue.enqueue, job_id))
