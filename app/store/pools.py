"""Pools in the database: compressed, beside the results and the specs that name them."""

import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import delete, exists, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.store.prompt_tables import StoredPool
from app.store.tables import Report
from lens_engine.retrieval.pool import Pool, PoolRow


@dataclass(frozen=True, slots=True)
class PackedPool:
    """A pool as it is stored: a JSON array of `[row, text, label]`, compressed."""

    digest: str  #: SHA-256 of the JSON
    num_rows: int
    data: bytes


@lru_cache(maxsize=1)
def pack_pool(pool: Pool) -> PackedPool:
    """The pool as it is stored. A run packs the same one with each of its checkpoints, and with its result."""
    rows = [(one.row, one.text, one.label) for one in pool.rows]
    # ASCII, because a text may hold half of a surrogate pair.
    content = json.dumps(rows, separators=(",", ":")).encode()
    return PackedPool(hashlib.sha256(content).hexdigest(), len(rows), zlib.compress(content))


def unpack_pool(data: bytes) -> Pool:
    """The pool of `PackedPool.data`."""
    rows = json.loads(zlib.decompress(data))
    return Pool(rows=tuple(PoolRow(row=row, text=text, label=label) for row, text, label in rows))


def store_pool(session: Session, job_id: str, pool: PackedPool) -> None:
    """Store the pool of a selection, unless it is there."""
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
    """Delete the pool of a selection that no result names."""
    has_result = exists().where(Report.job_id == job_id)
    session.execute(delete(StoredPool).where(StoredPool.job_id == job_id, ~has_result))
