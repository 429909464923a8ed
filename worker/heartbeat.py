"""The thread that holds a selection's lease and does all its writing while it is computed."""

import logging
import os
import signal
import threading
import time
from dataclasses import dataclass

from app.database import Database
from app.selections.claims import Claim, Lease, renew_lease, save_checkpoint, save_progress
from app.settings import Settings
from worker.persistence import POSTGRES_AWAY
from worker.progress import News, RunMonitor

_log = logging.getLogger(__name__)

_JOIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a heartbeat looks and writes, and when it gives up; seconds."""

    lease: float
    renew: float
    stall: float
    stop_grace: float
    look: float = 1.0
    longest_pause: float = 5.0

    @classmethod
    def of(cls, settings: Settings) -> "Rhythm":
        return cls(
            lease=settings.lease_seconds,
            renew=settings.lease_renew_seconds,
            stall=settings.stall_seconds,
            stop_grace=settings.stop_grace_seconds,
            look=min(1.0, settings.lease_renew_seconds),
        )


class Heartbeat:
    """Renews the lease, writes progress and checkpoints, and passes on a request to stop.

    It works from a thread and a connection of its own, so that neither a slow model nor an absent
    Postgres holds up the other: what could not be written is tried again until it can, newest only.
    Start it after the fork.
    """

    def __init__(self, database: Database, claim: Claim, monitor: RunMonitor, rhythm: Rhythm) -> None:
        self._database = database
        self._claim = claim
        self._monitor = monitor
        self._rhythm = rhythm
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._renewed_at = time.monotonic()
        self._pause = rhythm.look

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Write what is left, if Postgres takes it, and end the thread."""
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
        """A run without a heartbeat holds no lease, so it must stop, whatever ended the heartbeat."""
        if self._stopping.is_set():
            self._beat()
            return
        self._monitor.lose()
        if not self._stopping.wait(self._rhythm.stop_grace):
            _die("the run goes on although its lease is lost", self._claim)

    def _check_stall(self) -> None:
        """A run that no longer moves gives way: the parent sees the death and the sweep starts another."""
        if self._monitor.idle_seconds > self._rhythm.stall:
            _die(f"no progress in {self._rhythm.stall:.0f} s", self._claim)

    def _beat(self) -> None:
        news = self._monitor.read_news()
        if not news and time.monotonic() - self._renewed_at < self._rhythm.renew:
            return
        try:
            lease = self._write(news)
        except POSTGRES_AWAY as error:
            self._pause = min(self._pause * 2, self._rhythm.longest_pause)
            _log.warning("Postgres is away; %s goes on (%s)", self._claim.selection_id, type(error).__name__)
            return
        self._pause = self._rhythm.look
        self._renewed_at = time.monotonic()
        self._monitor.forget_news(news)
        self._heed(lease)

    def _write(self, news: News) -> Lease:
        """One short transaction, so that a lost lease writes nothing at all."""
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
                "%s was taken over; this run stops",
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
    """End the work-horse as a crash would: its computing thread cannot be trusted to stop."""
    _log.critical("%s, attempt %d, is killed: %s", claim.selection_id, claim.attempt, reason)
    os.kill(os.getpid(), signal.SIGKILL)
