"""Pages of selections: the list, one while it runs, and what its owner does with it."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query
from sqlalchemy import ColumnElement, func
from starlette.responses import HTMLResponse, Response

from app.lifecycle.spec import StoredSpec
from app.pages.fields import find_sizes, read_request
from app.pages.live import describe_run
from app.pages.rendering import Visit, VisitDep
from app.pages.results import describe_result
from app.pages.shell import has_sample
from app.selections import service
from app.selections.schemas import JobState
from app.store.queue import JobId
from app.store.services import enqueueing
from app.store.tables import TERMINAL, Job, Status
from app.web.dependencies import OWNER_ROUTE, PageDep, SelectionIdDep
from app.web.parameters import KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from lens_engine.show.words import HEADLINES

router = APIRouter(prefix="/pages/selections", dependencies=OWNER_ROUTE, include_in_schema=False)

_MOST_EVENTS = 1000
Action = Literal["cancel", "resume", "delete"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which selections a list shows."""

    name: Annotated[str, Query(max_length=200)] = ""
    status: Annotated[Literal["", *(one.value for one in Status)], Query()] = ""  # type: ignore[valid-type]

    @property
    def is_narrowed(self) -> bool:
        return bool(self.name or self.status)

    @property
    def query(self) -> str:
        """As the beginning of the query of an address."""
        given = {"name": self.name, "status": self.status}
        return urlencode({name: value for name, value in given.items() if value} | {"": ""}).rstrip("=")

    @property
    def filters(self) -> list[ColumnElement[bool]]:
        found = list[ColumnElement[bool]]()
        if self.name:
            found.append(func.strpos(func.lower(func.coalesce(Job.name, Job.id)), self.name.lower()) > 0)
        if self.status:
            found.append(Job.status == self.status)
        return found


@router.get("")
def show_list(visit: VisitDep, page: PageDep, asked: Annotated[Asked, Depends()]) -> HTMLResponse:
    """The selections of an owner, newest first."""
    more = ("figures", "dataset_id", "model", "num_labels")
    jobs, cursor = service.list_page(visit.services, visit.owner, page, *asked.filters, more=more)
    with visit.services.database.session_scope() as session:
        sizes = find_sizes(session, {one.dataset_id for one in jobs})
    return visit.answer(
        "list.html",
        jobs=jobs,
        cursor=cursor,
        is_first=page.last_id is None,
        sizes=sizes,
        has_sample=has_sample(),
        asked=asked,
        statuses=[one.value for one in Status],
        names=HEADLINES,
    )


@router.get("/{selection_id}")
def show_selection(visit: VisitDep, selection_id: SelectionIdDep) -> HTMLResponse:
    """One selection: how it goes, or what it found."""
    return _show_whole(visit, _describe(visit, selection_id))


def _show_whole(visit: Visit, found: dict[str, Any]) -> HTMLResponse:
    return visit.answer("selection.html", None, **found, **describe_result(visit.services, found["job"]))


@router.get("/{selection_id}/live")
def show_live(visit: VisitDep, selection_id: SelectionIdDep, if_none_match: KnownEtag = None) -> Response:
    """The part that changes while a selection runs; the whole page when it has ended."""
    found = _describe(visit, selection_id)
    if Status(found["job"].status) not in TERMINAL:
        shown = visit.answer("live.html", None, **found)
        etag = make_etag(repr(shown.body))  # the time decides about it, too
        return answer_unchanged(etag, {}) if is_known(if_none_match, etag) else answer_with_etag(etag, shown, {})
    ended = _show_whole(visit, found)
    ended.headers.update({"HX-Retarget": "#main", "HX-Reswap": "innerHTML"})
    return ended


@router.post("/{selection_id}/{action}")
def act(visit: VisitDep, selection_id: SelectionIdDep, action: Annotated[Action, Path()]) -> HTMLResponse:
    """Cancel, resume or delete, and show what there is then."""
    queued = None
    with visit.services.database.session_scope() as session:
        if action == "delete":
            service.delete(session, visit.owner, selection_id)
        elif action == "cancel":
            service.cancel(session, visit.owner, selection_id)
        else:
            job, has_changed = service.resume(visit.services, session, visit.owner, selection_id)
            queued = JobId(job.id, job.attempt + 1, job.model) if has_changed else None
    shown = visit.go_to("/pages/selections" if action == "delete" else f"/pages/selections/{selection_id}")
    shown.background = enqueueing(visit.services, queued)
    return shown


def _describe(visit: Visit, selection_id: str) -> dict[str, Any]:
    with visit.services.database.session_scope() as session:
        job = service.get(session, visit.owner, selection_id)
        size = find_sizes(session, [job.dataset_id])[job.dataset_id]
        place = service.find_place(visit.services, session, JobState.of(job))
        events = service.list_newest_events(session, selection_id, _MOST_EVENTS)
        asked = read_request(StoredSpec.model_validate(job.spec)).tabulate()
    return {"job": job, "run": describe_run(job, place, events, size.num_rows), "asked": asked, "size": size}
