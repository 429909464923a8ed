"""SQL of names. A read is one statement that joins name, version and content, so no reader sees a mixture."""

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, exists, func, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.store.tables import Prompt, PromptContent, PromptEvaluation, PromptVersion, Report, StoredPool
from lens_engine.prompt.pool import Pool, PoolRow

Found = tuple[PromptVersion, PromptContent]

_IS_CURRENT = (
    (PromptVersion.owner_id == Prompt.owner_id)
    & (PromptVersion.name == Prompt.name)
    & (PromptVersion.version == Prompt.version)
)
_HAS_CONTENT = (
    (PromptContent.owner_id == PromptVersion.owner_id)
    & (PromptContent.name == PromptVersion.name)
    & (PromptContent.digest == PromptVersion.digest)
)


def find_version(session: Session, owner_id: str, name: str) -> int | None:
    """Return the number of the current version, without its content."""
    return session.scalar(select(Prompt.version).where(*_is(owner_id, name)))


def find_current(session: Session, owner_id: str, name: str) -> PromptVersion | None:
    """Return the current version, without its content."""
    return session.scalar(select(PromptVersion).join(Prompt, _IS_CURRENT).where(*_is(owner_id, name)))


def read_current(session: Session, owner_id: str, name: str) -> Found | None:
    """Return the current version with its content."""
    statement = select(PromptVersion, PromptContent).join(Prompt, _IS_CURRENT).join(PromptContent, _HAS_CONTENT)
    return _first(session, statement.where(*_is(owner_id, name)))


def find_content(session: Session, owner_id: str, name: str, version: int) -> Found | None:
    """Return a version with its content. None if there is none, or a deletion of the name took the content."""
    if version < find_last_deletion(session, owner_id, name):  # its content may be there anew, but not its pool
        return None
    statement = select(PromptVersion, PromptContent).join(PromptContent, _HAS_CONTENT)
    own = (PromptVersion.owner_id == owner_id, PromptVersion.name == name, PromptVersion.version == version)
    return _first(session, statement.where(*own))


def find_last_deletion(session: Session, owner_id: str, name: str) -> int:
    """Return the number of the last version that deleted the name; 0 for none."""
    deletions = (PromptVersion.owner_id == owner_id, PromptVersion.name == name, PromptVersion.digest.is_(None))
    return session.scalar(select(func.max(PromptVersion.version)).where(*deletions)) or 0


def lock_name(session: Session, owner_id: str, name: str) -> Prompt:
    """Return the row of a name, locked until the transaction ends. A new one is deleted, and has the version 0."""
    values = {"owner_id": owner_id, "name": name, "version": 0, "is_deleted": True}
    session.execute(upsert(Prompt).values(**values).on_conflict_do_nothing())
    own = select(Prompt).where(Prompt.owner_id == owner_id, Prompt.name == name)
    return session.execute(own.with_for_update()).scalar_one()


def count_names(session: Session, owner_id: str) -> int:
    statement = select(func.count()).select_from(Prompt).where(Prompt.owner_id == owner_id, ~Prompt.is_deleted)
    return int(session.scalar(statement) or 0)


def add_version(session: Session, prompt: Prompt, content: PromptContent | None, **about: Any) -> PromptVersion:
    """Add the next version of a locked name; without content, the name is deleted."""
    prompt.version, prompt.is_deleted = prompt.version + 1, content is None
    session.flush()
    name = {"owner_id": prompt.owner_id, "name": prompt.name}
    digest = None if content is None else content.digest
    if content is not None:
        names = ("digest", "result", "classifier", "pool_digest")
        copied = {one: getattr(content, one) for one in names}
        session.execute(upsert(PromptContent).values(**name, **copied).on_conflict_do_nothing())
    values = {**name, "version": prompt.version, "digest": digest, **about}
    return session.execute(insert(PromptVersion).values(**values).returning(PromptVersion)).scalar_one()


def delete_contents(session: Session, owner_id: str, name: str) -> None:
    session.execute(delete(PromptContent).where(PromptContent.owner_id == owner_id, PromptContent.name == name))


def list_names(session: Session, owner_id: str, after: str | None, limit: int) -> Sequence[PromptVersion]:
    """Return the current versions of up to `limit` + 1 names. The extra one shows that there is a next page."""
    statement = select(PromptVersion).join(Prompt, _IS_CURRENT).where(Prompt.owner_id == owner_id, ~Prompt.is_deleted)
    if after is not None:
        statement = statement.where(Prompt.name > after)
    return session.scalars(statement.order_by(Prompt.name).limit(limit + 1)).all()


def list_versions(
    session: Session, owner_id: str, name: str, before: int | None, limit: int
) -> Sequence[PromptVersion]:
    """Return up to `limit` + 1 versions, newest first."""
    statement = select(PromptVersion).where(PromptVersion.owner_id == owner_id, PromptVersion.name == name)
    if before is not None:
        statement = statement.where(PromptVersion.version < before)
    return session.scalars(statement.order_by(PromptVersion.version.desc()).limit(limit + 1)).all()


def _is(owner_id: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return Prompt.owner_id == owner_id, Prompt.name == name, ~Prompt.is_deleted


def _first(session: Session, statement: Select[PromptVersion, PromptContent]) -> Found | None:
    found = session.execute(statement).one_or_none()
    return None if found is None else (found[0], found[1])


def list_evaluations(
    session: Session, owner_id: str, name: str, before: int | None, limit: int
) -> Sequence[PromptEvaluation]:
    """Return up to `limit` + 1 kept figures of a name, newest first. The extra one shows that there is a next page."""
    own = select(PromptEvaluation).where(PromptEvaluation.owner_id == owner_id, PromptEvaluation.name == name)
    older = own if before is None else own.where(PromptEvaluation.id < before)
    return session.scalars(older.order_by(PromptEvaluation.id.desc()).limit(limit + 1)).all()


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
