"""Pools in the database: compressed, beside the results and the specs that name them."""

import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

from sqlalchemy import delete, exists, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.store.tables import Job, Report, StoredPool
from lens_engine.classifier.classifier import Classifier
from lens_engine.retrieval.pool import Pool, PoolRow


@dataclass(frozen=True, slots=True)
class PackedPool:
    """A pool as it is stored: a JSON array of `[row, text, label]`, compressed."""

    digest: str  #: SHA-256 of the JSON
    num_rows: int
    data: bytes

    @classmethod
    def of(cls, pool: Pool) -> Self:
        rows = [(one.row, one.text, one.label) for one in pool.rows]
        # ASCII, because a text may hold half of a surrogate pair.
        content = json.dumps(rows, separators=(",", ":")).encode()
        return cls(hashlib.sha256(content).hexdigest(), len(rows), zlib.compress(content))


@lru_cache(maxsize=1)
def pack_pool(pool: Pool) -> PackedPool:
    """As `PackedPool.of`. A run packs the same pool with each of its checkpoints, and with its result."""
    return PackedPool.of(pool)


def unpack_pool(data: bytes) -> Pool:
    """The pool of `PackedPool.data`."""
    rows = json.loads(zlib.decompress(data))
    return Pool(rows=tuple(PoolRow(row=row, text=text, label=label) for row, text, label in rows))


class Parted(NamedTuple):
    """A classifier without the rows of its pool, and the pool; None if it finds no demonstrations."""

    classifier: Classifier
    pool: PackedPool | None


def part_pool(asked: Classifier) -> Parted:
    """Take the rows of the pool out of a prompt that a job asks. They may have megabytes, and each poll reads the spec
    of the job."""
    retrieval = asked.retrieval
    if retrieval is None:
        return Parted(asked, None)
    bare = retrieval.model_copy(update={"pool": Pool(rows=())})
    return Parted(asked.model_copy(update={"retrieval": bare}), PackedPool.of(retrieval.pool))


def join_pool(session: Session, job_id: str, asked: Classifier) -> Classifier:
    """The prompt with the rows of its pool, which are stored beside the job.

    Raises:
        NoResultFound: the job was deleted, or has succeeded.
    """
    if asked.retrieval is None:
        return asked
    data = session.scalars(select(StoredPool.data).where(StoredPool.job_id == job_id)).one()
    whole = asked.retrieval.model_copy(update={"pool": unpack_pool(data)})
    return asked.model_copy(update={"retrieval": whole})


def store_pool(session: Session, job_id: str, pool: PackedPool) -> None:
    """Store the pool of a job, unless it is there."""
    known = select(StoredPool.digest).where(StoredPool.job_id == job_id)
    if session.scalar(known) == pool.digest:
        return
    values = {"digest": pool.digest, "num_rows": pool.num_rows, "data": pool.data}
    statement = upsert(StoredPool).values(job_id=job_id, **values)
    session.execute(statement.on_conflict_do_update(index_elements=["job_id"], set_=values))


def read_pool(session: Session, job_id: str) -> Pool | None:
    data = session.scalar(select(StoredPool.data).where(StoredPool.job_id == job_id))
    return None if data is None else unpack_pool(data)


def delete_pool(session: Session, job_id: str) -> None:
    session.execute(delete(StoredPool).where(StoredPool.job_id == job_id))


def delete_pool_without_result(session: Session, job_id: str) -> None:
    """Delete the pool of a selection that no result names. That of another job is asked by its next attempt."""
    has_result = exists().where(Report.job_id == job_id)
    is_selection = exists().where(Job.id == job_id)
    session.execute(delete(StoredPool).where(StoredPool.job_id == job_id, is_selection, ~has_result))
