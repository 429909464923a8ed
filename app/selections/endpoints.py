"""Routes of selections as jobs: submit, list, poll, events, cancel, resume, delete."""

from typing import Annotated

from fastapi import APIRouter, Query, Response, status
from starlette.responses import JSONResponse

from app.ids import path_of
from app.selections import schemas, service, submission
from app.selections.parts import COLUMN_PARTS, LABELLED_FILE, describe_form, describe_upload
from app.selections.receiving import KeyDep, Upload, receive
from app.selections.submission_schemas import EXAMPLE_SPEC, EXAMPLE_SUBMISSION, SelectionSpec, SubmissionBody
from app.store.queue import JobId
from app.store.services import Services, enqueueing
from app.store.tables import Job, Status
from app.web.dependencies import OWNER_ROUTE, OwnerDep, PageDep, SelectionIdDep, ServicesDep, SessionDep
from app.web.openapi import not_modified, refusals, sends
from app.web.parameters import (
    REVALIDATED,
    KnownEtag,
    answer_unchanged,
    answer_with_etag,
    is_known,
    make_etag,
    read_last_number,
)

_MOST_DIGITS = 18
"""Of the number of an event, which has 64 bits."""

MODELS = (SelectionSpec, SubmissionBody)
SCHEMAS = describe_form(
    "SubmissionForm",
    "The form of POST /selections: a dataset and optionally test rows as files, and the spec as JSON.",
    {"dataset": LABELLED_FILE, "test": LABELLED_FILE},
    SelectionSpec,
    required=("dataset",),
)
router = APIRouter(tags=["selections"], dependencies=OWNER_ROUTE)

StatusParameter = Annotated[Status | None, Query(description="Only those with this status.")]


@router.post(
    "/selections",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=schemas.SelectionOut,
    response_description="The queued selection. `Location` is its address.",
    responses={
        202: sends("Location", "Retry-After", "Idempotent-Replayed"),
        **refusals(
            *(400, 401, 413, 415, 422, 503),
            conflict="Another request with this Idempotency-Key is still being answered.",
            is_conflict_brief=True,
        ),
    },
    openapi_extra=describe_upload(
        "SubmissionForm", {"dataset": "reviews.csv", "spec": EXAMPLE_SPEC}, SubmissionBody, EXAMPLE_SUBMISSION
    ),
)
def submit_selection(
    upload: Annotated[Upload, receive("dataset", "spec", "test", *COLUMN_PARTS)], key: KeyDep = None
) -> Response:
    """Submit a dataset and a task. A worker then searches for the support examples."""
    accepted = upload.do(submission.submit_selection, key)
    headers = {
        "Location": path_of(accepted.answer["id"]),
        "Retry-After": str(upload.services.settings.retry_after_seconds),
        **({"Idempotent-Replayed": "true"} if accepted.job_id is None else {}),
    }
    background = enqueueing(upload.services, accepted.job_id)
    return JSONResponse(accepted.answer, status.HTTP_202_ACCEPTED, headers, background=background)


@router.get(
    "/selections",
    response_model=schemas.SelectionPage,
    response_description="One page of selections.",
    responses=refusals(400, 401, 503),
)
def list_selections(services: ServicesDep, owner: OwnerDep, page: PageDep, status: StatusParameter = None) -> Response:
    """List your selections, newest first."""
    of_status = () if status is None else (Job.status == status,)
    jobs, cursor = service.list_page(services, owner, page, *of_status)
    shown = schemas.SelectionPage(items=[schemas.summarise(one) for one in jobs], next=cursor)
    # FastAPI would validate every item again.
    return Response(shown.model_dump_json(), media_type="application/json")


@router.get(
    "/selections/{selection_id}",
    response_model=schemas.SelectionOut,
    response_description="The selection. Until it has ended, `Retry-After` says when to ask again.",
    responses={200: sends("ETag", "Retry-After"), **not_modified("Retry-After"), **refusals(400, 401, 404, 503)},
)
def get_selection(
    selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None
) -> Response:
    """Return status and progress. Until the selection has ended, poll after `Retry-After` with `If-None-Match`."""
    with services.database.session_scope() as session:
        if if_none_match is not None:
            state = service.get_state(session, owner, selection_id)
            etag = _make_etag(state, service.find_place(services, session, state))
            if is_known(if_none_match, etag):
                waiting = schemas.retry_after(services.settings, state.status, state.progress)
                return answer_unchanged(etag, {**REVALIDATED, **waiting})
        job = service.get(session, owner, selection_id)
        state = schemas.JobState.of(job)
        place = service.find_place(services, session, state)
        shown = schemas.present(job, place)
    waiting = schemas.retry_after(services.settings, state.status, state.progress)
    return answer_with_etag(_make_etag(state, place), shown, {**REVALIDATED, **waiting})


def _make_etag(state: schemas.JobState, place: schemas.QueueOut | None) -> str:
    return make_etag("selection", state.version, repr(place))


@router.get(
    "/selections/{selection_id}/events",
    response_description="One page of events.",
    responses=refusals(400, 401, 404, 503),
)
def list_events(selection_id: SelectionIdDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> schemas.EventPage:
    """List the events of a selection, oldest first."""
    service.get(session, owner, selection_id)
    after = read_last_number(page.last_id, _MOST_DIGITS, "cursor", "events") or 0
    found, cursor = page.cut(service.list_events(session, selection_id, after, page.limit), lambda one: one.id)
    return schemas.EventPage(items=list(map(schemas.EventOut.model_validate, found)), next=cursor)


@router.post(
    "/selections/{selection_id}/cancel",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=schemas.SelectionOut,
    response_description="The selection: cancelled if it was queued, cancelling if it was running.",
    responses={
        200: {"model": schemas.SelectionOut, "description": "The selection was already cancelled or cancelling."},
        **refusals(400, 401, 404, 503, conflict="The selection has succeeded or failed."),
    },
)
def cancel_selection(selection_id: SelectionIdDep, session: SessionDep, owner: OwnerDep) -> Response:
    """Cancel a selection and keep its best examples so far. Repeated requests change nothing."""
    job, has_changed = service.cancel(session, owner, selection_id)
    return _show(job, status.HTTP_202_ACCEPTED if has_changed else status.HTTP_200_OK)


@router.post(
    "/selections/{selection_id}/resume",
    status_code=status.HTTP_202_ACCEPTED,
    response_model=schemas.SelectionOut,
    response_description="The selection, queued again.",
    responses={
        200: {"model": schemas.SelectionOut, "description": "The selection was already queued or running."},
        **refusals(400, 401, 404, 503, conflict="The selection has succeeded, or is still cancelling."),
    },
)
def resume_selection(selection_id: SelectionIdDep, services: ServicesDep, owner: OwnerDep) -> Response:
    """Queue a cancelled or failed selection again, for example when the operator has fixed the workers.

    It keeps its id, and goes on from its checkpoint, or from the start if none is kept. Its partial result is deleted
    at once. Its crash count is reset; its error stays in the event log.
    """
    with services.database.session_scope() as session:
        job, has_changed = service.resume(services, session, owner, selection_id)
        return _enqueue(services, job) if has_changed else _show(job)


@router.delete(
    "/selections/{selection_id}",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    response_description="The selection was deleted.",
    responses=refusals(400, 401, 404, 503, conflict="The selection has not ended."),
)
def delete_selection(selection_id: SelectionIdDep, session: SessionDep, owner: OwnerDep) -> None:
    """Delete an ended selection with its result and its data."""
    service.delete(session, owner, selection_id)


def _show(job: Job, code: int = status.HTTP_200_OK) -> JSONResponse:
    return JSONResponse(schemas.present(job).model_dump(mode="json"), code)


def _enqueue(services: Services, job: Job) -> Response:
    """The answer, after which the job is enqueued: the transaction has ended then."""
    answer = _show(job, status.HTTP_202_ACCEPTED)
    answer.headers["Retry-After"] = str(services.settings.retry_after_seconds)
    answer.background = enqueueing(services, JobId(job.id, job.attempt + 1, job.model))
    return answer
