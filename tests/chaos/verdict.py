"""What must hold at the end, after the network was mended and everything has had time to come to rest."""

import time
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import psycopg

from app.store.tables import TERMINAL, Status
from tests.chaos.config import MAX_ATTEMPTS
from tests.chaos.history import History
from tests.chaos.submissions import Variant
from tests.moves import MOVES, UNUSED_DATASETS, find_false_moves

Undisturbed = Mapping[Variant, str | None]
"""The digest of each variant undisturbed."""

_STATUSES = "SELECT id, status, digest, partial, attempt, crashes, error->>'type' FROM jobs"
_TWINS = "SELECT array_agg(id ORDER BY id), owner_id, name FROM jobs GROUP BY owner_id, name HAVING count(*) > 1"
_RESULTS = """
SELECT id, status, EXISTS (SELECT FROM reports WHERE job_id = id) AS has_report,
       coalesce((SELECT jsonb_array_length(result -> 'support_examples') FROM reports WHERE job_id = id), 0) AS choices,
       EXISTS (SELECT FROM checkpoints WHERE job_id = id) AS has_checkpoint
FROM jobs
"""
_HELD = """
SELECT 'advisory lock', pid::text, objid::text FROM pg_locks WHERE locktype = 'advisory'
UNION ALL SELECT 'transaction', pid::text, xact_start::text FROM pg_stat_activity
WHERE state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()
"""
Connection = psycopg.Connection[tuple[Any, ...]]


def judge(connection: Connection, history: History, undisturbed: Undisturbed) -> int:
    """Check what is stored against the history. Returns how many digests were compared."""
    check_endings(connection, history)
    check_keys(connection, history)
    check_results(connection, history)
    check_moves(connection, history)
    return compare_digests(connection, history, undisturbed)


def check_endings(connection: Connection, history: History) -> None:
    """Each accepted job exists, unless its owner deleted it, and each that exists has ended."""
    rows = {row[0]: row for row in connection.execute(_STATUSES)}
    for one in history.accepted:
        if not one.is_deleted and one.id not in rows:
            history.violate("an accepted job is lost", one.id)
    for id_, status, _, _, attempt, crashes, error in rows.values():
        if status not in TERMINAL:
            history.violate(f"still {status} at attempt {attempt}", id_)
        is_worn = str(error).endswith("#worker-crashed") and crashes >= MAX_ATTEMPTS
        if status == Status.FAILED and not is_worn:
            history.violate(f"failed with {error} after {crashes} crashes", id_)


def check_keys(connection: Connection, history: History) -> None:
    """A client names each job after its key, so a name twice is a key used twice."""
    for ids, owner, name in connection.execute(_TWINS):
        history.violate(f"{owner} has several jobs for {name}", *ids)


def check_results(connection: Connection, history: History) -> None:
    """What succeeded has one result; only what may go on keeps a checkpoint."""
    for id_, status, has_report, choices, has_checkpoint in connection.execute(_RESULTS):
        if status == Status.SUCCEEDED and not has_report:
            history.violate("succeeded without a report", id_)
        if has_report != (choices > 0) or (has_report and status not in {Status.SUCCEEDED, Status.CANCELLED}):
            history.violate(f"{status} with report {has_report} and {choices} chosen prompts", id_)
        if has_checkpoint and status in {Status.SUCCEEDED, Status.FAILED}:
            history.violate(f"{status} and keeps a checkpoint", id_)
    for (id_,) in connection.execute(UNUSED_DATASETS):
        history.violate("a dataset of no job", id_)


def check_moves(connection: Connection, history: History) -> None:
    """The history, which a trigger writes, is a path of the state machine; each claim begins the next attempt."""
    rows = connection.execute(MOVES).fetchall()
    for id_, moves in groupby(rows, key=lambda row: row[0]):
        for fault in find_false_moves((before, after, attempt) for _, before, after, attempt in moves):
            history.violate(fault, id_)


def compare_digests(connection: Connection, history: History, undisturbed: Undisturbed) -> int:
    """A whole result has the digest that its submission has undisturbed."""
    accepted = {one.id: one for one in history.accepted}
    stored = {row[0]: row[2] for row in connection.execute(_STATUSES) if row[1] == Status.SUCCEEDED and not row[3]}
    seen = {one.id: one.digest for one in accepted.values() if one.status == Status.SUCCEEDED and not one.is_partial}
    compared = {id_: digest for id_, digest in {**seen, **stored}.items() if id_ in accepted}
    for id_, digest in compared.items():
        expected = undisturbed[accepted[id_].submission]
        if digest != expected:
            history.violate(f"digest {digest} instead of {expected}", id_)
    return len(compared)


def check_traces(folder: Path, leftovers: list[str], history: History) -> None:
    """After everything has stopped, no process, temporary file or lock is left."""
    for process in leftovers:
        history.violate(f"process left: {process}")
    for name in ("spool", "tmp"):
        for file in sorted((folder / name).rglob("*")):
            history.violate(f"file left: {file.relative_to(folder)}")


def check_locks(connection: Connection, history: History) -> None:
    """At rest nobody holds an advisory lock, and no transaction stays open. A sweep holds its lock for a moment."""
    looks = []
    for _ in range(10):
        looks.append(connection.execute(_HELD).fetchall())
        time.sleep(0.3)
    for held in set.intersection(*(set(look) for look in looks)):
        history.violate(f"lock or transaction left: {held}")
