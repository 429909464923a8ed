"""Routes that jobs of every kind have. Decisions are in `service.py`."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response, status
from pydantic import BaseModel
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, PathDep, ServicesDep, SessionDep, make_id_reader
from app.ids import encode_cursor
from app.jobs import repository, service
from app.jobs.polls import JobState, retry_after
from app.jobs.schemas import EventOut, EventPage, QueueOut
from app.jobs.view import View, list_page
from app.lifecycle.enqueueing import enqueueing
from app.queue import JobId
from app.services import Services
from app.store.states import Status
from app.store.tables import Job
from app.web.etag import REVALIDATED, KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from app.web.openapi import not_modified, refusals, sends
from app.web.parameters import read_last_number

_MOST_DIGITS = 18
"""Of the number of an event, which has 64 bits."""

_CODES = {"GET": status.HTTP_200_OK, "POST": status.HTTP_202_ACCEPTED, "DELETE": status.HTTP_204_NO_CONTENT}

StatusParameter = Annotated[Status | None, Query(description="Only those with this status.")]
SourceParameter = Annotated[str | None, Query(max_length=100, description="Only those of this selection, or name.")]


class JobRoutes:
    """The routes to list, poll, cancel, retry, resume and delete jobs of one kind, and to read their events.

    The docstring of a method, with its braces filled in, is the description of its route.
    """

    def __init__(self, view: View) -> None:
        self._view, self._kind = view, view.kind
        self._read_id = make_id_reader(view.kind, view.prefix)
        self.router = APIRouter(prefix=f"/{view.kind}s", tags=[f"{view.kind}s"], dependencies=OWNER_ROUTE)
        self._add_reads(view.kind)
        self._add_changes(view.kind, view.out)

    def _add_reads(self, kind: str) -> None:
        self.router.add_api_route(
            "",
            self.list_by_source if self._view.has_source else self.list,
            name=f"list_{kind}s",
            description=f"List your {kind}s, newest first.",
            response_model=self._view.page,
            response_description=f"One page of {kind}s.",
            responses=refusals(400, 401, 503),
        )
        self._add(
            "GET",
            self.get,
            f"The {kind}. Until it has ended, `Retry-After` says when to ask again.",
            responses={200: sends("ETag", "Retry-After"), **not_modified("Retry-After")},
        )
        self._add(
            "GET",
            self.list_events,
            "One page of events.",
            path="/events",
            name="list_events" if kind == "selection" else f"list_{kind}_events",
            summary=f"List {kind.title()} Events",
            response_model=EventPage,
        )

    def _add_changes(self, kind: str, out: type[BaseModel]) -> None:
        self._add(
            "POST",
            self.cancel,
            f"The {kind}: cancelled if it was queued, cancelling if it was running.",
            conflict=f"The {kind} has succeeded or failed.",
            responses={200: {"model": out, "description": f"The {kind} was already cancelled or cancelling."}},
        )
        self._add("POST", self.retry, f"The {kind}, queued again.", conflict=f"The {kind} has not failed.")
        self._add(
            "POST",
            self.resume,
            f"The {kind}, queued again.",
            conflict=f"The {kind} has succeeded or failed, or is still cancelling.",
            responses={200: {"model": out, "description": f"The {kind} was already queued or running."}},
        )
        self._add("DELETE", self.delete, f"The {kind} was deleted.", conflict=f"The {kind} has not ended.")

    def _add(
        self,
        method: str,
        endpoint: Callable[..., Any],
        answers_with: str,
        *,
        path: str | None = None,
        conflict: str | None = None,
        responses: Mapping[int | str, Any] | None = None,
        **about: Any,
    ) -> None:
        """Add a route of one job.

        Args:
            conflict: what 409 means.
        """
        view, kind, verb = self._view, self._kind, endpoint.__name__
        words = {"kind": kind, "a_kind": f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"}
        words |= {"keeps": view.keeps, "resumes": view.resumes}
        usual: dict[str, Any] = {"name": f"{verb}_{kind}", "response_model": view.out}
        if method == "DELETE":
            usual |= {"response_model": None, "response_class": Response}
        self.router.add_api_route(
            f"/{{{kind}_id}}{path or (f'/{verb}' if method == 'POST' else '')}",
            endpoint,
            methods=[method],
            status_code=_CODES[method],
            description=str(inspect.getdoc(endpoint)).format(**words),
            response_description=answers_with,
            responses={**(responses or {}), **refusals(400, 401, 404, 503, conflict=conflict)},
            dependencies=[self._read_id],
            **(usual | about),
        )

    def list(self, services: ServicesDep, owner: OwnerDep, page: PageDep, status: StatusParameter = None) -> Response:
        return self.list_by_source(services, owner, page, status)

    def list_by_source(
        self,
        services: ServicesDep,
        owner: OwnerDep,
        page: PageDep,
        status: StatusParameter = None,
        source: SourceParameter = None,
    ) -> Response:
        found = list_page(self._view, services, owner, page, status, source)
        # FastAPI would validate every item again.
        return Response(self._view.show_page(found).model_dump_json(), media_type="application/json")

    def get(self, job_id: PathDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None) -> Response:
        """Return status and progress. Until the {kind} has ended, poll after `Retry-After` with `If-None-Match`."""
        with services.database.session_scope() as session:
            if if_none_match is not None:
                state = service.get_state(session, owner, self._kind, job_id)
                etag = self._make_etag(state, service.find_place(services, session, state))
                if is_known(if_none_match, etag):
                    waiting = retry_after(services.settings, state.status, state.progress)
                    return answer_unchanged(etag, {**REVALIDATED, **waiting})
            job = service.get(session, owner, self._kind, job_id)
            state = JobState.of(job)
            place = service.find_place(services, session, state)
            shown = self._view.present(session, job, place)
        waiting = retry_after(services.settings, state.status, state.progress)
        return answer_with_etag(self._make_etag(state, place), shown, {**REVALIDATED, **waiting})

    def list_events(self, job_id: PathDep, services: ServicesDep, owner: OwnerDep, page: PageDep) -> EventPage:
        """List the events of {a_kind}, oldest first."""
        with services.database.session_scope() as session:
            service.get(session, owner, self._kind, job_id)
            after = read_last_number(page.last_id, _MOST_DIGITS, "cursor", "events") or 0
            found = repository.list_events(session, job_id, after, page.limit)
        items = [EventOut.model_validate(event) for event in found[: page.limit]]
        last_id = str(items[-1].id) if items else page.last_id
        follow = None if last_id is None else encode_cursor(last_id)
        return EventPage(items=items, next=follow if len(found) > page.limit else None, follow=follow)

    def cancel(self, job_id: PathDep, session: SessionDep, owner: OwnerDep) -> Response:
        """Cancel {a_kind} and keep {keeps}. Repeated requests change nothing."""
        job, has_changed = service.cancel(session, owner, self._kind, job_id)
        return self._show(session, job, status.HTTP_202_ACCEPTED if has_changed else status.HTTP_200_OK)

    def retry(self, job_id: PathDep, services: ServicesDep, owner: OwnerDep) -> Response:
        """Queue a failed {kind} again, for example when the operator has fixed the workers.

        It keeps its id. Its crash count is reset; the error stays in the event log.
        """
        with services.database.session_scope() as session:
            return self._enqueue(services, session, service.retry(services, session, owner, self._kind, job_id))

    def resume(self, job_id: PathDep, services: ServicesDep, owner: OwnerDep) -> Response:
        """Queue a cancelled {kind} again. {resumes}"""
        with services.database.session_scope() as session:
            job, has_changed = service.resume(services, session, owner, self._kind, job_id)
            return self._enqueue(services, session, job) if has_changed else self._show(session, job)

    def delete(self, job_id: PathDep, session: SessionDep, owner: OwnerDep) -> None:
        """Delete an ended {kind} with its result and its data."""
        service.delete(session, owner, self._kind, job_id)

    def _make_etag(self, state: JobState, place: QueueOut | None) -> str:
        return make_etag(self._kind, state.version, repr(place))

    def _show(self, session: Session, job: Job, code: int = status.HTTP_200_OK) -> JSONResponse:
        return JSONResponse(self._view.present(session, job, None).model_dump(mode="json"), code)

    def _enqueue(self, services: Services, session: Session, job: Job) -> Response:
        """The answer, after which the job is enqueued: the transaction has ended then."""
        answer = self._show(session, job, status.HTTP_202_ACCEPTED)
        answer.headers["Retry-After"] = str(services.settings.retry_after_seconds)
        answer.background = enqueueing(services, JobId(job.id, job.attempt + 1, job.model))
        return answer
