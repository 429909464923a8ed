"""Releases that Postgres did not take: noted on disk, and handed in when a worker of the same database starts
with this cache folder.

When a machine stops, Postgres may be gone before the workers are told. Without the note, the lease of a job runs out,
which looks like a crash.
"""

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.util import to_list

from app.lifecycle.claims import Claim
from app.lifecycle.endings import requeue
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, create_database
from lens_engine.disk.cache_folder import cache_folder
from lens_engine.disk.replace_file import replace_file
from worker.job_context import commit_with_patience

_PATIENCE_SECONDS, _HURRIED_SECONDS = 60.0, 3.0
_log = logging.getLogger(__name__)


def note_release(settings: Settings, claim: Claim) -> bool:
    """Note that the holder of a claim let go. Returns False if the disk does not take the note."""
    folder = _folder(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / f"{claim.job_id}-{claim.attempt}.json", json.dumps(asdict(claim)).encode())
    except OSError as error:
        _log.warning("the release of %s was not noted on disk (%s)", claim.job_id, type(error).__name__)
        return False
    return True


def give_back(settings: Settings, claim: Claim) -> None:
    """Give back the job of a work-horse that does not do so, and count no crash: in Postgres, or else on disk."""
    is_given_back = threading.Event()

    def write() -> None:
        database = create_database(settings, pool_size=1)
        with suppress(*POSTGRES_AWAY):
            commit_with_patience(database, partial(requeue, claim=claim), 0)
            database.dispose()
            is_given_back.set()

    threading.Thread(target=write, daemon=True).start()
    if not is_given_back.wait(_HURRIED_SECONDS):
        note_release(settings, claim)


def hand_in_releases(settings: Settings, patience_seconds: float = _PATIENCE_SECONDS) -> None:
    """Give the noted jobs back to the queue, and count no crash. A note whose claim is lost changes nothing.

    The sweep of an API that starts takes nothing over for as long as a lease, so there is time for this.
    """
    notes = list(_read_notes(_folder(settings)))
    if not notes:
        return
    database = create_database(settings, pool_size=1)
    try:
        for path, claim in notes:
            is_held = commit_with_patience(database, partial(requeue, claim=claim), patience_seconds)
            _log.info("%s: its noted release was %s", claim.job_id, "handed in" if is_held else "too late")
            path.unlink(missing_ok=True)
    except ProgrammingError:  # `check_schema` says what to do about it
        _log.warning("the database lacks the schema of this release; noted releases wait for the next start")
    except POSTGRES_AWAY as error:
        _log.warning("Postgres does not answer; noted releases wait for the next start (%s)", type(error).__name__)
    finally:
        database.dispose()  # a fork must not inherit an open connection


def _read_notes(folder: Path) -> Iterator[tuple[Path, Claim]]:
    for path in sorted(folder.glob("*.json")):
        try:
            yield path, Claim(**json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            _log.warning("the noted release %s cannot be read; it is dropped", path.name)
            path.unlink(missing_ok=True)


def _folder(settings: Settings) -> Path:
    """The notes of one database: services may share a cache folder, and one must not drop the notes of another."""
    url = make_url(settings.database_url)
    hosts = [url.host or "", *to_list(url.query.get("host", []))]
    # A server whose path is too long for a socket has another link at each start.
    named = [os.path.realpath(host) if host.startswith("/") else host for host in hosts]
    database = json.dumps([*named, url.port or url.query.get("port"), url.database])
    return cache_folder(settings.cache_dir) / "releases" / hashlib.sha256(database.encode()).hexdigest()[:16]
