"""Deletes what is older than the settings keep: ended jobs with their datasets, and checkpoints for a resume."""

import logging
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.ids import SELECTION, first_id
from app.settings import Settings
from app.store.database import Database
from app.store.datasets import IS_USED, delete_unused_datasets
from app.store.states import TERMINAL, Status
from app.store.tables import Dataset, Job, StoredCheckpoint

_MOST_A_SWEEP = 20
"""A job may bring 100,000 rows with it, so few are deleted at a time, each in a transaction of its own."""

_log = logging.getLogger(__name__)


def forget_old(database: Database, settings: Settings) -> int:
    """Delete some of what is too old, and return the number of deleted jobs. Another sweep deletes the rest."""
    with database.session_scope() as session:
        _forget_checkpoints(session, settings)
        old = _find_old(session, settings)
    deleted = 0
    for job_id in old:
        with database.session_scope() as session:
            deleted += _forget(session, job_id)
    with database.session_scope() as session:
        _forget_kept(session, settings)
    if deleted:
        _log.info("%d jobs were older than keep_days and are deleted", deleted, extra={"action": "retention"})
    return deleted


def _find_old(session: Session, settings: Settings) -> list[str]:
    """Ids of jobs that ended too long ago, the first created first."""
    if settings.keep_days is None:
        return []
    kept = timedelta(days=settings.keep_days)
    moment = datetime.now(UTC) - kept
    ended_at = func.greatest(Job.succeeded_at, Job.failed_at, Job.cancelled_at)
    query = select(Job.id).where(
        Job.id < first_id(SELECTION, moment),  # by the primary key: a younger job is not read
        Job.status.in_([status.value for status in TERMINAL]),
        ended_at < func.now() - kept,
    )
    return list(session.scalars(query.order_by(Job.id).limit(_MOST_A_SWEEP)))


def _forget(session: Session, job_id: str) -> bool:
    """Delete one job. Returns False if it was queued again or deleted meanwhile."""
    statement = delete(Job).where(Job.id == job_id, Job.status.in_([status.value for status in TERMINAL]))
    columns = (Job.owner_id, Job.dataset_id, Job.test_dataset_id)
    row = session.execute(statement.returning(*columns)).one_or_none()
    if row is None:
        return False
    owner_id, *datasets = row
    delete_unused_datasets(session, owner_id, [id_ for id_ in datasets if id_ is not None])
    return True


def _forget_checkpoints(session: Session, settings: Settings) -> None:
    """Delete the checkpoints of selections that were cancelled too long ago to be resumed from them."""
    too_old = select(StoredCheckpoint.job_id).join(Job, Job.id == StoredCheckpoint.job_id)
    too_old = too_old.where(
        Job.status == Status.CANCELLED,
        Job.cancelled_at < func.now() - timedelta(days=settings.resume_days),
    )
    some = too_old.limit(_MOST_A_SWEEP)
    session.execute(delete(StoredCheckpoint).where(StoredCheckpoint.job_id.in_(some)))


def _forget_kept(session: Session, settings: Settings) -> None:
    """Delete some datasets that were stored by themselves too long ago, and that no job uses."""
    if settings.keep_days is None:
        return
    old = select(Dataset.id).where(
        Dataset.id < first_id("ds", datetime.now(UTC) - timedelta(days=settings.keep_days)), Dataset.is_kept, ~IS_USED
    )
    # Locked first, so that the delete sees a submission that uses one of them meanwhile.
    some = session.scalars(old.order_by(Dataset.id).limit(_MOST_A_SWEEP).with_for_update(skip_locked=True)).all()
    session.execute(delete(Dataset).where(Dataset.id.in_(some), ~IS_USED))
