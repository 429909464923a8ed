"""How clients see the jobs of one kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel
from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Session

from app.jobs.schemas import JobSummary, QueueOut
from app.store.tables import Job

Filters = Sequence[ColumnElement[bool]]


def by_source(
    source: Annotated[str | None, Query(max_length=100, description="Only those of this selection, or name.")] = None,
) -> Filters:
    """A filter by what is judged or asked."""
    if source is None:
        return ()
    named = [Job.source[name].astext == source for name in ("selection_id", "prompt_name")]
    return (or_(*named),)


Present = Callable[[Session, Job, QueueOut | None], BaseModel]


@dataclass(frozen=True, slots=True)
class View:
    """How clients see the jobs of one kind."""

    kind: str  #: "selection"; the path is its plural
    prefix: str  #: of ids
    summary: type[JobSummary]
    out: type[BaseModel]  #: what GET of one answers
    page: type[BaseModel]
    present: Present  #: makes an `out`; the session is open
    keeps: str  #: what a cancelled one keeps, for the documentation
    resumes: str  #: where a resumed one goes on
    filter_by: Callable[..., Filters] = lambda: ()  #: a dependency: filters of lists besides the status
