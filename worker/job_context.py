"""What a run has: its claim, and the ways to the model and to a Postgres that may be away for a while."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sqlalchemy.orm import Session

from app.lifecycle.claims import Claim
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, Database, find_sqlstate, is_away
from lens_engine.opening import LanguageModel
from worker.faults import blaming_worker_for_everything
from worker.model_loading import load_model
from worker.progress import RunMonitor

_RESERVE_SECONDS, _RESERVE_SHARE = 600.0, 0.1
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_NEVER = "54"  # class of SQLSTATE: a statement exceeds a limit of the program, and will again

_log = logging.getLogger(__name__)

T = TypeVar("T")


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


def longest_pause(settings: Settings) -> float:
    """Time between two attempts to reach Postgres (seconds). After an outage, the sweep waits for one lease."""
    return min(_LONGEST_PAUSE_SECONDS, settings.lease_renew_seconds)


def commit_with_patience(
    database: Database,
    write: Callable[[Session], T],
    patience_seconds: float,
    longest_pause_seconds: float = _LONGEST_PAUSE_SECONDS,
) -> T:
    """Run `write` in its own transaction and repeat it while Postgres is away or refuses it for a while.

    A commit may succeed although its confirmation is lost. `write` must therefore be fenced, so that
    the repetition changes nothing. Who holds a lease passes `longest_pause`, because nothing renews it meanwhile.

    Raises:
        OperationalError, InterfaceError, TimeoutError: Postgres did not accept it for `patience_seconds`, or never
            will.
    """
    deadline = time.monotonic() + patience_seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            with database.session_scope() as session:
                return write(session)
        except POSTGRES_AWAY as error:
            if time.monotonic() + pause > deadline or (find_sqlstate(error) or "").startswith(_NEVER):
                raise
            log_postponed(error, f"next attempt in {pause:.1f} s")
        time.sleep(pause)
        pause = min(pause * 2, longest_pause_seconds)


def log_postponed(error: Exception, consequence: str) -> None:
    """Log why a write must be repeated: Postgres is away, or has refused a statement."""
    if is_away(error):
        _log.warning("Postgres does not answer; %s (%s)", consequence, type(error).__name__)
        return
    _log.warning(
        "Postgres refused a statement; %s (%s, SQLSTATE %s)", consequence, type(error).__name__, find_sqlstate(error)
    )
