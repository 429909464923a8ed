"""Routes that jobs of every kind have. Decisions are in `service.py`."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response, status
from sqlalchemy import Row
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, ServicesDep, SessionDep, make_id_reader
from app.ids import encode_cursor
from app.jobs import repository, service
from app.jobs.listing import list_page
from app.jobs.polls import JobState, retry_after
from app.jobs.presentation import read_columns
from app.jobs.schemas import EventOut, EventPage, JobSummary, QueueOut
from app.jobs.streaming import MEDIA_TYPE
from app.jobs.view import View
from app.jobs.watching import NOTHING_MORE, STREAM, answer_stream
from app.lifecycle.enqueueing import enqueueing
from app.queue import JobId
from app.services import Services
from app.store.states import Status
from app.store.tables import Job
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from app.web.openapi import not_modified, refusals, sends
from app.web.parameters import read_last_number
from app.web.rate_limits import SUBMISSION_LIMIT

_MOST_DIGITS = 18
"""Of the number of an event, which has 64 bits."""

StatusParameter = Annotated[Status | None, Query(description="Only those with this status.")]


def make_routes(view: View) -> APIRouter:
    """The routes to list, poll, cancel, retry, resume and delete jobs of one kind, and to read their events."""
    kind = view.kind
    router = APIRouter(prefix=f"/{kind}s", tags=[f"{kind}s"], dependencies=OWNER_ROUTE)
    id_reader = make_id_reader(kind, view.prefix)
    one = f"/{{{kind}_id}}"

    @router.get(
        "",
        name=f"list_{kind}s",
        summary=f"List {kind.title()}s",
        description=f"List your {kind}s, newest first.",
        response_model=view.page,
        response_description=f"One page of {kind}s.",
        responses=refusals(400, 401, 503),
    )
    def list_jobs(
        services: ServicesDep,
        owner: OwnerDep,
        page: PageDep,
        more: Annotated[Any, Depends(view.filter_by)],
        status: StatusParameter = None,
    ) -> Response:
        filters = more if status is None else (*more, Job.status == status)
        found = list_page(view, services, owner, page, filters)
        shown = view.page(items=[_summarise(view, job) for job in found.jobs], next=found.next)
        # FastAPI would validate every item again.
        return Response(shown.model_dump_json(), media_type="application/json")

    @router.get(
        one,
        name=f"get_{kind}",
        summary=f"Get {kind.title()}",
        description=f"Return status and progress. Until the {kind} has ended, poll after `Retry-After` with "
        "`If-None-Match`.",
        response_model=view.out,
        response_description=f"The {kind}. Until it has ended, `Retry-After` says when to ask again.",
        responses={
            200: sends("ETag", "Retry-After"),
            **not_modified("Retry-After"),
            **refusals(400, 401, 404, 503),
        },
    )
    def get_job(
        job_id: Annotated[str, id_reader], owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None
    ) -> Response:
        with services.database.session_scope() as session:
            if if_none_match is not None:
                state = service.get_state(session, owner, kind, job_id)
                etag = _etag_of(kind, state, service.find_place(services, session, state))
                if is_known(if_none_match, etag):
                    waiting = retry_after(services.settings, state.status, state.progress)
                    return answer_unchanged(etag, {**REVALIDATED, **waiting})
            job = service.get(session, owner, kind, job_id)
            state = JobState.of(job)
            place = service.find_place(services, session, state)
            shown = view.present(session, job, place)
        waiting = retry_after(services.settings, state.status, state.progress)
        return answer_with_etag(_etag_of(kind, state, place), shown, {**REVALIDATED, **waiting})

    @router.get(
        f"{one}/events",
        name="list_events" if kind == "selection" else f"list_{kind}_events",
        summary=f"List {kind.title()} Events",
        description=f"List the events of {_a(kind)}, oldest first. With `Accept: {MEDIA_TYPE}`, stream them as they "
        f"happen; a message `job` has the {kind} whenever it has changed, and `close` comes after the last event.",
        response_model=EventPage,
        response_description="One page of events, or the stream.",
        responses={200: STREAM, 204: {"description": NOTHING_MORE}, **refusals(400, 401, 404, 503)},
    )
    def list_events(
        request: Request,
        job_id: Annotated[str, id_reader],
        services: ServicesDep,
        owner: OwnerDep,
        page: PageDep,
        last_event_id: Annotated[str | None, Header(description="Number of the last event of a stream before.")] = None,
    ) -> EventPage | Response:
        if MEDIA_TYPE in request.headers.get("Accept", ""):
            name = "Last-Event-ID" if last_event_id else "cursor"
            return answer_stream(request, view, job_id, _event_id(last_event_id or page.last_id, name))
        with services.database.session_scope() as session:
            service.get(session, owner, kind, job_id)
            found = repository.list_events(session, job_id, _event_id(page.last_id), page.limit)
        items = [EventOut.model_validate(event) for event in found[: page.limit]]
        last_id = str(items[-1].id) if items else page.last_id
        follow = None if last_id is None else encode_cursor(last_id)
        return EventPage(items=items, next=follow if len(found) > page.limit else None, follow=follow)

    @router.post(
        f"{one}/cancel",
        name=f"cancel_{kind}",
        summary=f"Cancel {kind.title()}",
        description=f"Cancel {_a(kind)} and keep {view.keeps}. Repeated requests change nothing.",
        status_code=status.HTTP_202_ACCEPTED,
        response_model=view.out,
        response_description=f"The {kind}: cancelled if it was queued, cancelling if it was running.",
        responses={
            200: {"model": view.out, "description": f"The {kind} was already cancelled or cancelling."},
            **refusals(400, 401, 404, 503, conflict=f"The {kind} has succeeded or failed."),
        },
    )
    def cancel_job(job_id: Annotated[str, id_reader], session: SessionDep, owner: OwnerDep) -> Response:
        job, has_changed = service.cancel(session, owner, kind, job_id)
        code = status.HTTP_202_ACCEPTED if has_changed else status.HTTP_200_OK
        return JSONResponse(view.present(session, job, None).model_dump(mode="json"), code)

    @router.post(
        f"{one}/retry",
        name=f"retry_{kind}",
        summary=f"Retry {kind.title()}",
        description=f"Queue a failed {kind} again, for example when the operator has fixed the workers.\n\n"
        "It keeps its id. Its crash count is reset; the error stays in the event log.",
        status_code=status.HTTP_202_ACCEPTED,
        response_model=view.out,
        response_description=f"The {kind}, queued again.",
        dependencies=[SUBMISSION_LIMIT],
        responses=refusals(400, 401, 404, 503, conflict=f"The {kind} has not failed."),
    )
    def retry_job(job_id: Annotated[str, id_reader], services: ServicesDep, owner: OwnerDep) -> Response:
        with services.database.session_scope() as session:
            job = service.retry(services, session, owner, kind, job_id)
            return _answer_queued(view, services, session, job)

    @router.post(
        f"{one}/resume",
        name=f"resume_{kind}",
        summary=f"Resume {kind.title()}",
        description=f"Queue a cancelled {kind} again. {view.resumes}",
        status_code=status.HTTP_202_ACCEPTED,
        response_model=view.out,
        response_description=f"The {kind}, queued again.",
        dependencies=[SUBMISSION_LIMIT],
        responses={
            200: {"model": view.out, "description": f"The {kind} was already queued or running."},
            **refusals(400, 401, 404, 503, conflict=f"The {kind} has succeeded or failed, or is still cancelling."),
        },
    )
    def resume_job(job_id: Annotated[str, id_reader], services: ServicesDep, owner: OwnerDep) -> Response:
        with services.database.session_scope() as session:
            job, has_changed = service.resume(services, session, owner, kind, job_id)
            if not has_changed:
                return JSONResponse(view.present(session, job, None).model_dump(mode="json"))
            return _answer_queued(view, services, session, job)

    @router.delete(
        one,
        name=f"delete_{kind}",
        summary=f"Delete {kind.title()}",
        description=f"Delete an ended {kind} with its result and its data.",
        status_code=status.HTTP_204_NO_CONTENT,
        response_class=Response,
        response_description=f"The {kind} was deleted.",
        responses=refusals(400, 401, 404, 503, conflict=f"The {kind} has not ended."),
    )
    def delete_job(job_id: Annotated[str, id_reader], session: SessionDep, owner: OwnerDep) -> None:
        service.delete(session, owner, kind, job_id)

    return router


def _summarise(view: View, job: Row[Any]) -> JobSummary:
    return view.summary.model_validate(read_columns(job, view.summary.model_fields))


def _etag_of(kind: str, state: JobState, place: QueueOut | None) -> str:
    return make_etag(kind, state.version, repr(place))


def _answer_queued(view: View, services: Services, session: Session, job: Job) -> Response:
    """The answer, after which the job is enqueued: the transaction has ended then."""
    return JSONResponse(
        view.present(session, job, None).model_dump(mode="json"),
        status.HTTP_202_ACCEPTED,
        {"Retry-After": str(services.settings.retry_after_seconds)},
        background=enqueueing(services, JobId(job.id, job.attempt + 1, job.model)),
    )


def _event_id(last_id: str | None, name: str = "cursor") -> int:
    return read_last_number(last_id, _MOST_DIGITS, name, "events") or 0


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
