"""Pages of selections: the list, one while it runs, and what its owner does with it."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, SelectionIdDep, ServicesDep
from app.jobs import repository, service
from app.jobs.polls import JobState
from app.jobs.view import list_page
from app.lifecycle.enqueueing import enqueueing
from app.lifecycle.spec import StoredSpec
from app.pages.asked import tabulate_asked
from app.pages.live import describe_run
from app.pages.rendering import answer, go_to
from app.pages.results import describe_result
from app.queue import JobId
from app.selections.endpoints import VIEW
from app.services import Services
from app.store.states import TERMINAL, Status
from app.web.rate_limits import count_submission

router = APIRouter(prefix="/pages/selections", dependencies=OWNER_ROUTE, include_in_schema=False)

_MOST_EVENTS = 1000

Action = Literal["cancel", "resume", "retry", "delete"]


@router.get("")
def show_list(request: Request, owner: OwnerDep, services: ServicesDep, page: PageDep) -> HTMLResponse:
    """The selections of an owner, newest first."""
    found = list_page(VIEW, services, owner, page)
    return answer(request, "list.html", jobs=found.jobs, cursor=found.next, is_first=page.last_id is None)


@router.get("/{selection_id}")
def show_selection(
    request: Request, selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep
) -> HTMLResponse:
    """One selection: how it goes, or what it found."""
    found = _describe(services, owner, selection_id)
    return answer(request, "selection.html", None, **found, **describe_result(services, found["job"]))


@router.get("/{selection_id}/live")
def show_live(request: Request, selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep) -> HTMLResponse:
    """The part that changes while a selection runs; the whole page when it has ended."""
    found = _describe(services, owner, selection_id)
    if Status(found["job"].status) not in TERMINAL:
        return answer(request, "live.html", None, **found)
    ended = answer(request, "selection.html", None, **found, **describe_result(services, found["job"]))
    ended.headers.update({"HX-Retarget": "#main", "HX-Reswap": "innerHTML"})
    return ended


@router.post("/{selection_id}/{action}")
def act(
    request: Request,
    selection_id: SelectionIdDep,
    action: Annotated[Action, Path()],
    owner: OwnerDep,
    services: ServicesDep,
) -> HTMLResponse:
    """Cancel, resume, retry or delete, and show what there is then."""
    queued = None
    with services.database.session_scope() as session:
        if action == "delete":
            service.delete(session, owner, "selection", selection_id)
        elif action == "cancel":
            service.cancel(session, owner, "selection", selection_id)
        else:
            count_submission(request)
            queued = _queue_again(action, services, session, owner, selection_id)
    shown = go_to(request, "/pages/selections" if action == "delete" else f"/pages/selections/{selection_id}")
    shown.background = enqueueing(services, queued)
    return shown


def _queue_again(action: Action, services: Services, session: Session, owner: str, selection_id: str) -> JobId | None:
    """What to enqueue; nothing for a selection that is queued or running already."""
    has_changed = True
    if action == "retry":
        job = service.retry(services, session, owner, "selection", selection_id)
    else:
        job, has_changed = service.resume(services, session, owner, "selection", selection_id)
    return JobId(job.id, job.attempt + 1, job.model) if has_changed else None


def _describe(services: Services, owner: str, selection_id: str) -> dict[str, Any]:
    with services.database.session_scope() as session:
        job = service.get(session, owner, "selection", selection_id)
        place = service.find_place(services, session, JobState.of(job))
        events = repository.list_newest_events(session, selection_id, _MOST_EVENTS)
        asked = tabulate_asked(StoredSpec.model_validate(job.spec))
    return {"job": job, "run": describe_run(job, place, events), "asked": asked}
