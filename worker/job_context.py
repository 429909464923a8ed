"""What a run of any kind has: its claim, and the ways to the database and to the model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sqlalchemy.orm import Session

from app.lifecycle.claims import Claim
from app.settings import Settings
from lens_engine.open_model import LanguageModel
from worker.faults import blaming_worker_for_everything
from worker.model_loading import load_model
from worker.progress import RunMonitor

T = TypeVar("T")

_RESERVE_SECONDS, _RESERVE_SHARE = 600.0, 0.1


class Transact(Protocol):
    """Runs `write` in a transaction, and again while Postgres is away. `write` must be fenced, or only read."""

    def __call__(self, write: Callable[[Session], T], /) -> T: ...


def reserve_seconds(settings: Settings) -> float:
    """The part of the time limit of a job in which the run judges its last rows and writes its result."""
    return min(_RESERVE_SECONDS, _RESERVE_SHARE * float(settings.job_timeout_seconds))


@dataclass(frozen=True, slots=True)
class JobContext:
    """One attempt, as its run sees it."""

    claim: Claim
    settings: Settings
    monitor: RunMonitor
    deadline: float  #: value of `time.monotonic()` at which the run must judge its last rows
    transact: Transact
    log: Callable[..., None]

    @property
    def last_moment(self) -> float:
        """Value of `time.monotonic()` at which the run must end also the judging of its last rows."""
        return self.deadline + reserve_seconds(self.settings) / 2

    def load(self, model: str, dtype: str | None, *, is_search: bool = True) -> LanguageModel:
        """Load the model that the settings allow under this name.

        Args:
            dtype: its number format; None for that of the settings.
            is_search: as `load_model` takes it.

        Raises:
            WorkerFault: it cannot be loaded here.
        """
        with blaming_worker_for_everything(), self.monitor.loading():
            return load_model(self.settings, model, dtype, is_search=is_search)
