"""One page of the jobs of a kind, for the list of the API and for that of the web page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row

from app.dependencies import Page
from app.errors import InvalidCursor
from app.ids import encode_cursor
from app.jobs import repository
from app.jobs.view import View
from app.services import Services
from app.store.tables import Job


@dataclass(frozen=True, slots=True)
class JobList:
    """Jobs, newest first, with the columns of their summaries; `next` is the cursor of the next page."""

    jobs: Sequence[Row[Any]]
    next: str | None


def list_page(
    view: View,
    services: Services,
    owner_id: str,
    page: Page,
    filters: Sequence[ColumnElement[bool]] = (),
    more: Sequence[str] = (),
) -> JobList:
    """Read a page of an owner's jobs.

    Args:
        more: names of columns beside those of a summary.

    Raises:
        InvalidCursor: the cursor comes from another list.
    """
    if page.last_id is not None and not page.last_id.startswith(f"{view.prefix}_"):
        raise InvalidCursor(f"the cursor does not belong to a list of {view.kind}s")
    after = () if page.last_id is None else (Job.id < page.last_id,)
    names = [name for name in (*view.summary.model_fields, *more) if name in Job.__table__.columns]
    with services.database.session_scope() as session:
        found = repository.list_summaries(session, owner_id, view.kind, names, page.limit, *after, *filters)
    jobs = found[: page.limit]
    return JobList(jobs, encode_cursor(jobs[-1].id) if len(found) > page.limit else None)
