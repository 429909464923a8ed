"""The pool of a version of a name: the copy of that of a selection, with the rows that were added or taken out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, delete, func, insert, literal, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.answers.answers import PoolSource
from app.errors import NotFound
from app.store.prompts import unpack_pool
from app.store.services import Services
from app.store.tables import Prompt, PromptContent, PromptExample, PromptPool, PromptVersion, StoredPool
from lens_engine.prompt.pool import Pool, PoolRow

_Value = TypeVar("_Value")

Changes = Mapping[int, PoolRow | None]
"""What a version has by row in place of what the copy has: a row that was added, or None for one taken out."""


@dataclass(frozen=True, slots=True)
class VersionedPool:
    """The pool of a version, before its rows are read. Most requests find them in memory."""

    services: Services
    owner_id: str
    name: str
    version: int
    created_at: datetime
    digest: str  #: of the copy
    num_rows: int

    @property
    def source(self) -> PoolSource:
        # A version never changes, so its pool does not either; but after a restore another one may have its number.
        key = ("prompt", self.owner_id, self.name, str(self.version), self.created_at.isoformat())
        return PoolSource(key, self.num_rows, self.load)

    def load(self) -> Pool:
        with self.services.database.session_scope() as session:
            copied = unpack_pool(self._read(session, PromptPool.data))
            changes = self.list_changes(session)
        rows = {row.row: row for row in copied.rows} | dict(changes)
        return Pool(rows=tuple(row for _, row in sorted(rows.items()) if row is not None))

    def list_changes(self, session: Session) -> dict[int, PoolRow | None]:
        return list_changes(session, self.owner_id, self.name, self.version)

    def find_first_added(self, session: Session) -> int:
        """The number from which added rows are counted."""
        return self._read(session, PromptPool.first_added)

    def _read(self, session: Session, column: InstrumentedAttribute[_Value]) -> _Value:
        found = session.scalar(select(column).where(*_is(self.owner_id, self.name, self.digest)))
        if found is None:
            raise NotFound("the prompt with this name was deleted meanwhile")
        return found


def find_pool(services: Services, content: PromptContent, version: PromptVersion) -> VersionedPool | None:
    """The pool of a version with this content; None where no prompt finds examples for an input."""
    if content.pool_digest is None:
        return None
    own = (version.owner_id, version.name, version.version, version.created_at)
    return VersionedPool(services, *own, content.pool_digest, version.summary["pool_rows"])


def copy_pool(session: Session, owner_id: str, name: str, selection_id: str, num_rows: int) -> str | None:
    """Copy the pool of a selection for a name, and return its digest; None if the selection has none.

    `num_rows`: of the dataset of the selection.
    """
    digest = session.scalar(select(StoredPool.digest).where(StoredPool.job_id == selection_id))
    if digest is None:
        return None
    known = select(PromptPool.digest).where(*_is(owner_id, name, digest))
    if session.scalar(known) is None:
        copied = select(
            *(literal(value) for value in (owner_id, name)),
            StoredPool.digest,
            StoredPool.num_rows,
            literal(num_rows),
            StoredPool.data,
        ).where(StoredPool.job_id == selection_id)
        columns = ["owner_id", "name", "digest", "num_rows", "first_added", "data"]
        session.execute(insert(PromptPool).from_select(columns, copied))
    return digest


def count_rows(session: Session, prompt: Prompt, digest: str | None, changes: Changes) -> int | None:
    """The number of rows of a copy with these changes; None without a pool."""
    copied = select(PromptPool.num_rows).where(*_is(prompt.owner_id, prompt.name, digest))
    num_rows = session.scalar(copied)
    return num_rows and num_rows + sum(-1 if change is None else 1 for change in changes.values())


def list_changes(session: Session, owner_id: str, name: str, version: int) -> dict[int, PoolRow | None]:
    """The changes of a version, by row."""
    columns = select(PromptExample.row, PromptExample.text, PromptExample.label)
    is_current = (PromptExample.since <= version, or_(PromptExample.until.is_(None), PromptExample.until > version))
    found = session.execute(columns.where(*_of_name(owner_id, name), *is_current))
    return {row: None if text is None else PoolRow(row=row, text=text, label=label) for row, text, label in found}


def write_changes(session: Session, prompt: Prompt, before: Changes, after: Changes) -> None:
    """Let the newest version of a locked name have other changes than the version before."""
    ended = [row for row, change in before.items() if row not in after or after[row] != change]
    if ended:
        own = (*_of_name(prompt.owner_id, prompt.name), PromptExample.until.is_(None))
        session.execute(update(PromptExample).where(*own, PromptExample.row.in_(ended)).values(until=prompt.version))
    begun = [row for row, change in after.items() if row not in before or before[row] != change]
    values = [
        {
            "owner_id": prompt.owner_id,
            "name": prompt.name,
            "row": row,
            "since": prompt.version,
            "text": None if (change := after[row]) is None else change.text,
            "label": None if change is None else change.label,
        }
        for row in begun
    ]
    if values:
        session.execute(insert(PromptExample), values)


def find_next_row(session: Session, pool: VersionedPool) -> int:
    """The number of the next row that is added to a name: one that none of its versions had."""
    own = _of_name(pool.owner_id, pool.name)
    last = session.scalar(select(func.max(PromptExample.row)).where(*own))
    return max(pool.find_first_added(session), -1 if last is None else last + 1)


def delete_pools(session: Session, owner_id: str, name: str) -> None:
    """Delete the pools of all versions of a name."""
    session.execute(delete(PromptPool).where(PromptPool.owner_id == owner_id, PromptPool.name == name))
    session.execute(delete(PromptExample).where(*_of_name(owner_id, name)))


def _is(owner_id: str, name: str, digest: str | None) -> tuple[ColumnElement[bool], ...]:
    return PromptPool.owner_id == owner_id, PromptPool.name == name, PromptPool.digest == digest


def _of_name(owner_id: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return PromptExample.owner_id == owner_id, PromptExample.name == name
