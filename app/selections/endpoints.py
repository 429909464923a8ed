"""Routes of /selections. Decisions are in `service.py`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response, status
from starlette.responses import JSONResponse

from app.dependencies import OwnerDep, PageDep, SelectionIdDep, ServicesDep, SessionDep
from app.errors import InvalidCursor
from app.ids import encode_cursor
from app.lifecycle.states import Status
from app.models import Report, StoredClassifier
from app.queue import Doorbell
from app.selections import openapi, repository, service
from app.selections.polls import SelectionState, retry_after
from app.selections.presentation import Advice, present, present_label_words, present_result, present_support_examples
from app.selections.ringing import ringing
from app.selections.schemas import (
    EventOut,
    EventPage,
    QueueOut,
    RenderBody,
    Rendered,
    ResultOut,
    SelectionOut,
    SelectionPage,
    SupportExamplesOut,
)
from app.services import Services
from app.web.authentication import API_KEY
from app.web.etag import KnownEtag, answer_unchanged, answer_with_etag, is_known, make_etag
from app.web.openapi import not_modified, refusals, sends
from app.web.parameters import KNOWN_PARAMETERS
from app.web.request_body import json_body
from lens_engine.classifier.classifier import Classifier

RenderBodyDep = Annotated[RenderBody, Depends(json_body(RenderBody))]

router = APIRouter(prefix="/selections", tags=["selections"], dependencies=[API_KEY, KNOWN_PARAMETERS])

_NO_RESULT = "The selection has no result yet, or it ended without one."
_NO_CLASSIFIER = f"{_NO_RESULT} Or the result has no classifier; `detail` says how to get one."
_REVALIDATED = {"Cache-Control": "private, no-cache"}
"""A browser may keep the answer, and asks each time whether it still holds: a selection may be deleted or resumed."""


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
    query = repository.PageQuery(status, page.limit, _selection_id(page.last_id))
    with services.database.session_scope() as session:
        found = repository.list_selections(session, owner, query)
    items = [present(selection) for selection in found[: page.limit]]
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
                return answer_unchanged(etag, {**_REVALIDATED, **waiting})
        selection = service.get(session, owner, selection_id)
        state = SelectionState.of(selection)
        place = service.find_place(services, session, state)
    waiting = retry_after(services.settings, state.status, state.progress)
    return answer_with_etag(_etag_of(state, place), present(selection, place), {**_REVALIDATED, **waiting})


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


@router.get(
    "/{selection_id}/support-examples",
    response_model=SupportExamplesOut,
    response_description="The support examples. Only those of a cancelled selection may change, by a resume.",
    responses={
        200: sends("ETag"),
        **not_modified(),
        **refusals(400, 401, 404, 503, conflict=_NO_RESULT, is_conflict_brief=True),
    },
)
def get_support_examples(
    selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None
) -> Response:
    """Return the support examples in order, their prompt, and how good they are."""
    with services.database.session_scope() as session:
        attempt = repository.find_attempt_with(session, owner, selection_id, Report)
        etag = make_etag("support-examples", selection_id, str(attempt))
        if attempt is not None and is_known(if_none_match, etag):
            return answer_unchanged(etag, _REVALIDATED)
        report = service.get_report(services, session, owner, selection_id)
    return answer_with_etag(etag, present_support_examples(report), _REVALIDATED)


@router.get(
    "/{selection_id}/result",
    response_model=ResultOut,
    response_description="The result of the selection. Only that of a cancelled selection may change, by a resume.",
    responses={
        200: sends("ETag"),
        **not_modified(),
        **refusals(400, 401, 404, 503, conflict=_NO_RESULT, is_conflict_brief=True),
    },
)
def get_result(
    selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None
) -> Response:
    """Return everything that the run found: support examples, classifier, every accuracy, cost, provenance."""
    with services.database.session_scope() as session:
        attempt = repository.find_attempt_with(session, owner, selection_id, Report)
        etag = make_etag("result", selection_id, str(attempt))
        if attempt is not None and is_known(if_none_match, etag):
            return answer_unchanged(etag, _REVALIDATED)
        report = service.get_report(services, session, owner, selection_id)
        shown = present_result(report, repository.find_classifier(session, selection_id))
    return answer_with_etag(etag, shown, _REVALIDATED)


@router.get(
    "/{selection_id}/classifier",
    response_model=Classifier,
    response_description="The classifier of the selection. It changes only as the result does.",
    responses={
        200: {**openapi.CLASSIFIER, **sends("ETag")},
        **not_modified(),
        **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER, is_conflict_brief=True),
    },
)
def get_classifier(
    selection_id: SelectionIdDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None
) -> Response:
    """Return the classifier to use: prompts, and a head on the label log-probabilities that the model gives after them.

    It is the classifier that the verdict recommends. Saved as `classifier.json`, the body is a file that
    `Classifier.load` of the library reads.
    """
    with services.database.session_scope() as session:
        attempt = repository.find_attempt_with(session, owner, selection_id, StoredClassifier)
        etag = make_etag("classifier", selection_id, str(attempt))
        if attempt is not None and is_known(if_none_match, etag):
            return answer_unchanged(etag, _REVALIDATED)
        classifier = service.get_classifier(services, session, owner, selection_id)
    return answer_with_etag(etag, classifier, _REVALIDATED)


@router.post(
    "/{selection_id}/render",
    response_description="The prompts of each input.",
    responses=refusals(*(400, 401, 404, 413, 415, 422, 503), conflict=_NO_CLASSIFIER, is_conflict_brief=True),
    openapi_extra=openapi.RENDER_BODY,
)
def render_prompt(
    selection_id: SelectionIdDep, body: RenderBodyDep, session: SessionDep, owner: OwnerDep, services: ServicesDep
) -> Rendered:
    """Build every prompt of the classifier to use, or the prompt of the support examples, for each new input.

    To classify: let the model score each label word after each prompt, and apply the classifier's head to the label
    log-probabilities. The prompt of the support examples needs no head: the likeliest label word wins.
    """
    selection = service.get(session, owner, selection_id)
    inputs = body.inputs if body.inputs is not None else [body.input or ""]
    advice = Advice.of(service.get_report(services, session, owner, selection_id))
    is_single = body.prompts == "support_examples" or advice.favours_one_prompt is not False
    if is_single or advice.use == "bag_of_words":
        prompts = service.render(session, owner, selection_id, inputs)
        is_recommended = advice.favours_one_prompt
    else:
        classifier = service.get_classifier(services, session, owner, selection_id)
        prompts, is_recommended = service.render_classifier(classifier, inputs), True
    return Rendered(
        selection_id=selection_id,
        partial=bool(selection.partial),
        label_words=present_label_words(selection),
        prompts=prompts,
        recommended=is_recommended,
        reason=advice.reason,
    )


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
        background=ringing(services, Doorbell(selection.id, selection.attempt + 1)),
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
