"""Routes of /selections. Decisions are in `service.py`."""

from typing import Annotated

from fastapi import APIRouter, Query, Response, status
from starlette.responses import JSONResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, SelectionIdDep, ServicesDep, SessionDep
from app.errors import InvalidCursor
from app.ids import encode_cursor
from app.lifecycle.states import Status
from app.queue import JobId
from app.selections import repository, service
from app.selections.enqueueing import enqueueing
from app.selections.polls import SelectionState, retry_after
from app.selections.presentation import present, present_summary
from app.selections.schemas import EventOut, EventPage, QueueOut, SelectionOut, SelectionPage
from app.services import Services
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from app.web.openapi import not_modified, refusals, sends
from app.web.rate_limits import SUBMISSION_LIMIT

router = APIRouter(prefix="/selections", tags=["selections"], dependencies=OWNER_ROUTE)


@router.get(
    "",
    response_model=SelectionPage,
    response_description="One page of selections.",
    responses=refusals(400, 401, 503),
)
def list_selections(
    services: ServicesDep,
    owner: OwnerDep,
    page: PageDep,
    status: Annotated[Status | None, Query(description="Only selections with this status.")] = None,
) -> Response:
    """List your selections, newest first."""
    last_id = _selection_id(page.last_id)
    with services.database.session_scope() as session:
        found = repository.list_summaries(session, owner, status, last_id, page.limit)
    items = [present_summary(selection) for selection in found[: page.limit]]
    shown = SelectionPage(items=items, next=encode_cursor(items[-1].id) if len(found) > page.limit else None)
    # FastAPI would validate every item again.
    return Response(shown.model_dump_json(), media_type="application/json")


@router.get(
    "/{selection_id}",
    response_model=SelectionOut,
    response_description="The selection. Until it has ended, `Retry-After` says when to ask again.",
    responses={
        200: sends("ETag", "Retry-After"),
        **not_modified("Retry-After"),
        **refusals(400, 401, 404, 503),
    },
)
def get_selection(
    selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None
) -> Response:
    """Return status and progress. Until the selection has ended, poll after `Retry-After` with `If-None-Match`."""
    with services.database.session_scope() as session:
        if if_none_match is not None:
            state = service.get_state(session, owner, selection_id)
            etag = _etag_of(state, service.find_place(services, session, state))
            if is_known(if_none_match, etag):
                waiting = retry_after(services.settings, state.status, state.progress)
                return answer_unchanged(etag, {**REVALIDATED, **waiting})
        selection = service.get(session, owner, selection_id)
        state = SelectionState.of(selection)
        place = service.find_place(services, session, state)
    waiting = retry_after(services.settings, state.status, state.progress)
    return answer_with_etag(_etag_of(state, place), present(selection, place), {**REVALIDATED, **waiting})


@router.get(
    "/{selection_id}/events",
    response_description="One page of events.",
    responses=refusals(400, 401, 404, 503),
)
def list_events(selection_id: SelectionIdDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> EventPage:
    """List the events of a selection, oldest first."""
    service.get(session, owner, selection_id)
    found = repository.list_events(session, selection_id, _event_id(page.last_id), page.limit)
    items = [EventOut.model_validate(event) for event in found[: page.limit]]
    last_id = str(items[-1].id) if items else page.last_id
    follow = None if last_id is None else encode_cursor(last_id)
    return EventPage(items=items, next=follow if len(found) > page.limit else None, follow=follow)


@router.post(
    "/{selection_id}/cancel",
    status_code=status.HTTP_202_ACCEPTED,
    response_description="The selection: cancelled if it was queued, cancelling if it was running.",
    responses={
        200: {"model": SelectionOut, "description": "The selection was already cancelled or cancelling."},
        **refusals(400, 401, 404, 503, conflict="The selection has succeeded or failed."),
    },
)
def cancel_selection(
    selection_id: SelectionIdDep, services: ServicesDep, owner: OwnerDep, response: Response
) -> SelectionOut:
    """Cancel a selection and keep its best permutation so far. Repeated requests change nothing."""
    selection, has_changed = service.cancel(services, owner, selection_id)
    response.status_code = status.HTTP_202_ACCEPTED if has_changed else status.HTTP_200_OK
    return selection


@router.post(
    "/{selection_id}/retry",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=SelectionOut,
    response_description="The selection, queued again.",
    dependencies=[SUBMISSION_LIMIT],
    responses=refusals(400, 401, 404, 503, conflict="The selection has not failed."),
)
def retry_selection(selection_id: SelectionIdDep, services: ServicesDep, owner: OwnerDep) -> Response:
    """Queue a failed selection again, for example when the operator has fixed the workers.

    It keeps its id and begins from the start. Its crash count is reset; the error stays in the event log.
    """
    selection = service.retry(services, owner, selection_id)
    return _answer_queued(services, selection)


@router.post(
    "/{selection_id}/resume",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=SelectionOut,
    response_description="The selection, queued again.",
    dependencies=[SUBMISSION_LIMIT],
    responses={
        200: {"model": SelectionOut, "description": "The selection was already queued or running."},
        **refusals(400, 401, 404, 503, conflict="The selection has succeeded or failed, or is still cancelling."),
    },
)
def resume_selection(selection_id: SelectionIdDep, services: ServicesDep, owner: OwnerDep) -> Response:
    """Queue a cancelled selection again. It goes on from its checkpoint, or from the start if none is kept.

    Its partial result is deleted at once.
    """
    selection, has_changed = service.resume(services, owner, selection_id)
    return _answer_queued(services, selection) if has_changed else JSONResponse(selection.model_dump(mode="json"))


@router.delete(
    "/{selection_id}",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    response_description="The selection was deleted.",
    responses=refusals(400, 401, 404, 503, conflict="The selection has not ended."),
)
def delete_selection(selection_id: SelectionIdDep, session: SessionDep, owner: OwnerDep) -> None:
    """Delete an ended selection with its result and its data."""
    service.delete(session, owner, selection_id)


def _etag_of(state: SelectionState, place: QueueOut | None) -> str:
    return make_etag("selection", state.version, repr(place))


def _answer_queued(services: Services, selection: SelectionOut) -> Response:
    return JSONResponse(
        selection.model_dump(mode="json"),
        status.HTTP_202_ACCEPTED,
        {"Retry-After": str(services.settings.retry_after_seconds)},
        background=enqueueing(services, JobId(selection.id, selection.attempt + 1)),
    )


def _selection_id(last_id: str | None) -> str | None:
    if last_id is not None and not last_id.startswith("sel_"):
        raise InvalidCursor("the cursor does not belong to a list of selections")
    return last_id


def _event_id(last_id: str | None) -> int:
    if last_id is None:
        return 0
    if not last_id.isdigit() or len(last_id) > 18:
        raise InvalidCursor("the cursor does not belong to a list of events")
    return int(last_id)
