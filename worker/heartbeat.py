"""The thread that renews a selection's lease and writes its progress and checkpoints while the run computes."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.database import POSTGRES_AWAY, Database
from app.selections.claims import Claim, Lease, renew_lease, save_checkpoint, save_progress
from app.settings import Settings
from worker.progress import News, RunMonitor

_log = logging.getLogger(__name__)

_JOIN_SECONDS = 5.0

GiveUp = Callable[[Session, Claim, float], bool]
"""Gives a run up that made no progress for a number of seconds."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Intervals and time limits of a heartbeat (seconds)."""

    lease: float
    renew: float
    stall: float
    stop_grace: float
    look: float = 1.0
    longest_pause: float = 5.0
    load: float = 3600.0  #: takes the place of `stall` while the model is loaded

    @classmethod
    def of(cls, settings: Settings) -> "Rhythm":
        return cls(
            lease=settings.lease_seconds,
            renew=settings.lease_renew_seconds,
            stall=settings.stall_seconds,
            stop_grace=settings.stop_grace_seconds,
            look=min(1.0, settings.lease_renew_seconds),
            longest_pause=min(5.0, settings.lease_renew_seconds),  # after an outage, the sweep waits for one lease
            load=settings.load_seconds,
        )


class Heartbeat:
    """Renews the lease, writes progress and checkpoints, and forwards a cancel request to the run.

    The heartbeat has its own thread and connection, so a slow model delays no write and an outage of
    Postgres delays no computation. A failed write is repeated with the newest values until it
    succeeds. Start the heartbeat after the fork.
    """

    def __init__(
        self, database: Database, claim: Claim, monitor: RunMonitor, rhythm: Rhythm, give_up: GiveUp | None = None
    ) -> None:
        """`give_up`: the last write for a run that stalls; None leaves the run to the sweep."""
        self._database = database
        self._claim = claim
        self._monitor = monitor
        self._rhythm = rhythm
        self._give_up = give_up
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._renewed_at = time.monotonic()
        self._pause = rhythm.look

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Try once to write the newest values, then end the thread."""
        self._stopping.set()
        self._monitor.wake()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set() and not self._monitor.is_lost:
                self._monitor.wait_for_news(self._pause)
                self._check_stall()
                self._beat()
        finally:
            self._see_off()

    def _see_off(self) -> None:
        """Stop the run when its heartbeat ends for any reason: without a heartbeat the lease runs out."""
        if self._stopping.is_set():
            self._beat()
            return
        self._monitor.lose()
        if not self._stopping.wait(self._rhythm.stop_grace):
            _die("the run did not stop after its lease was lost", self._claim)

    def _check_stall(self) -> None:
        """Give up and kill a run that makes no progress. The sweep starts another attempt."""
        limit = self._rhythm.load if self._monitor.is_loading else self._rhythm.stall
        if self._monitor.idle_seconds > limit:
            self._try_to_give_up(limit)
            _die(f"no progress in {limit:.0f} s", self._claim)

    def _try_to_give_up(self, limit: float) -> None:
        if self._give_up is None:
            return
        try:
            with self._database.session_scope() as session:
                self._give_up(session, self._claim, limit)
        except SQLAlchemyError as error:
            _log.warning("the stall of %s was not written (%s)", self._claim.selection_id, type(error).__name__)

    def _beat(self) -> None:
        news = self._monitor.read_news()
        if not news and time.monotonic() - self._renewed_at < self._rhythm.renew:
            return
        try:
            lease = self._write(news)
        except POSTGRES_AWAY as error:
            self._pause = min(self._pause * 2, self._rhythm.longest_pause)
            _log.warning(
                "Postgres does not answer; %s continues and its writes wait (%s)",
                self._claim.selection_id,
                type(error).__name__,
            )
            return
        self._pause = self._rhythm.look
        self._renewed_at = time.monotonic()
        self._monitor.forget_news(news)
        self._heed(lease)

    def _write(self, news: News) -> Lease:
        """Write everything in one transaction, so that a run without the lease writes nothing."""
        with self._database.session_scope() as session:
            lease = renew_lease(session, self._claim, self._rhythm.lease)
            if lease is not Lease.LOST and news.checkpoint is not None:
                save_checkpoint(session, self._claim, news.checkpoint)
            if lease is not Lease.LOST and news.progress is not None:
                save_progress(session, self._claim, news.progress)
        return lease

    def _heed(self, lease: Lease) -> None:
        if lease is Lease.LOST:
            _log.warning(
                "%s was taken over by another attempt; this run stops",
                self._claim.selection_id,
                extra={
                    "action": "lease-lost",
                    "selection_id": self._claim.selection_id,
                    "attempt": self._claim.attempt,
                },
            )
            self._monitor.lose()
        elif lease is Lease.CANCEL_REQUESTED:
            self._monitor.cancel()


def _die(reason: str, claim: Claim) -> None:
    """Kill this work-horse as a crash would, because its computing thread may never stop."""
    _log.critical("killing %s, attempt %d: %s", claim.selection_id, claim.attempt, reason)
    os.kill(os.getpid(), signal.SIGKILL)
