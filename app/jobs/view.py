"""How clients see the jobs of one kind, for the API and for the web page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Row, or_
from sqlalchemy.orm import Session

from app.dependencies import Page
from app.errors import InvalidCursor
from app.ids import PREFIXES, encode_cursor
from app.jobs import repository
from app.jobs.presentation import read_columns
from app.jobs.schemas import JobSummary, QueueOut
from app.services import Services
from app.store.states import Status
from app.store.tables import Job


@dataclass(frozen=True, slots=True)
class JobList:
    """One page of jobs, newest first, with the columns of their summaries; `next` is the cursor of the next page."""

    jobs: Sequence[Row[Any]]
    next: str | None


@dataclass(frozen=True, slots=True)
class View:
    """How clients see the jobs of one kind."""

    kind: str  #: "selection"; the path is its plural
    summary: type[JobSummary]
    out: type[BaseModel]  #: what GET of one answers
    page: type[BaseModel]
    present: Callable[[Session, Job, QueueOut | None], BaseModel]  #: makes an `out`; the session is open
    keeps: str  #: what a cancelled one keeps, for the documentation
    resumes: str  #: where a resumed one goes on
    has_source: bool = False  #: whether it is about what a selection found

    @property
    def prefix(self) -> str:
        """Of ids."""
        return PREFIXES[self.kind]

    def show_page(self, found: JobList) -> BaseModel:
        items = [self.summary.model_validate(read_columns(job, self.summary.model_fields)) for job in found.jobs]
        return self.page(items=items, next=found.next)


def list_page(
    view: View,
    services: Services,
    owner_id: str,
    page: Page,
    status: Status | None = None,
    source: str | None = None,
    *,
    filters: Sequence[ColumnElement[bool]] = (),
    more: Sequence[str] = (),
) -> JobList:
    """Read a page of an owner's jobs.

    Args:
        more: names of columns beside those of a summary.
        source: id of a selection, or name of a prompt; only the jobs about what it found.

    Raises:
        InvalidCursor: the cursor comes from another list.
    """
    if page.last_id is not None and not page.last_id.startswith(f"{view.prefix}_"):
        raise InvalidCursor(f"the cursor does not belong to a list of {view.kind}s")
    wanted = list(filters)
    if page.last_id is not None:
        wanted.append(Job.id < page.last_id)
    if status is not None:
        wanted.append(Job.status == status)
    if source is not None:
        wanted.append(or_(*(Job.source[name].astext == source for name in ("selection_id", "prompt_name"))))
    names = [name for name in (*view.summary.model_fields, *more) if name in Job.__table__.columns]
    with services.database.session_scope() as session:
        found = repository.list_summaries(session, owner_id, view.kind, names, page.limit, *wanted)
    jobs = found[: page.limit]
    return JobList(jobs, encode_cursor(jobs[-1].id) if len(found) > page.limit else None)
