"""What every part of the service stands on: settings, database and queue of one process."""

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

from app.queue import JobQueue
from app.settings import Settings
from app.store.database import Database


@dataclass(frozen=True, slots=True)
class Services:
    """Settings, database and queue of one process."""

    settings: Settings
    database: Database
    queue: JobQueue
    enqueuers: Executor = field(default_factory=lambda: ThreadPoolExecutor(2, "lens-enqueue"))  #: after the answers
