"""Routes of /prompts: what production reads. Decisions are in `service.py`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response, status
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, ServicesDep, SessionDep
from app.ids import encode_cursor
from app.prompts import service
from app.prompts.asking import READ, AskedDep, ChangeDep, NameDep, present
from app.prompts.schemas import (
    NamedPrompts,
    NamedSupportExamples,
    PromptBody,
    PromptHistory,
    PromptPage,
    PromptVersionOut,
)
from app.prompts.service import NamedAnswers
from app.selections import openapi
from app.selections.indexes import IndexesDep
from app.selections.measured_forms import find_measured
from app.selections.parameters import FormatParameter, InputParameter, RenderBodyDep, UseParameter
from app.selections.result_endpoints import answer_export
from app.store import prompts as repository
from app.web.etag import version_etag
from app.web.openapi import named, refusals, sends
from app.web.parameters import read_last_number
from app.web.rate_limits import SUBMISSION_LIMIT
from app.web.request_body import json_body
from lens_engine.classifier.classifier import Classifier

router = APIRouter(prefix="/prompts", tags=["prompts"], dependencies=OWNER_ROUTE)

_NO_CLASSIFIER = "The version has no classifier, or one whose prompts alone classify nothing."
_BODY = {"requestBody": {"required": True, "content": {"application/json": {"schema": named(PromptBody)}}}}


BodyDep = Annotated[PromptBody, Depends(json_body(PromptBody))]


@router.get("", response_description="One page of names.", responses=refusals(400, 401, 503))
def list_prompts(session: SessionDep, owner: OwnerDep, page: PageDep) -> PromptPage:
    """List your names with their current versions."""
    found = [present(one) for one in repository.list_names(session, owner, page.last_id, page.limit)]
    items = found[: page.limit]
    return PromptPage(items=items, next=encode_cursor(items[-1].name) if len(found) > page.limit else None)


@router.put(
    "/{name}",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    dependencies=[SUBMISSION_LIMIT],
    responses={
        200: sends("ETag"),
        201: {
            "model": PromptVersionOut,
            "description": "The version of a new name.",
            **sends("ETag", "Location"),
        },
        **refusals(
            *(400, 401, 404, 412, 413, 415, 422, 428, 503),
            conflict="The selection has no result.",
            is_conflict_brief=True,
        ),
    },
    openapi_extra=_BODY,
)
def put_prompt(change: ChangeDep, body: BodyDep) -> Response:
    """Let a name say what a selection found, or again what an earlier version said.

    Production reads the name and needs no change. The version is a copy: a selection may be deleted afterwards.
    """
    shown = present(change.put(body))
    is_new = change.condition.if_match is None
    headers = {"ETag": version_etag(shown.version), **({"Location": f"/prompts/{shown.name}"} if is_new else {})}
    return JSONResponse(shown.model_dump(mode="json"), 201 if is_new else 200, headers)


@router.get(
    "/{name}",
    response_model=PromptVersionOut,
    response_description="The version that the name has now.",
    responses=READ,
)
def get_prompt(asked: AskedDep) -> Response:
    """Return which version a name has, and how good it is."""
    return asked.answer_about()


@router.delete(
    "/{name}",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    response_description="The name was deleted.",
    responses=refusals(400, 401, 404, 412, 428, 503),
)
def delete_prompt(change: ChangeDep) -> None:
    """Delete a name, with what it said in all versions. A new one of this name goes on with the numbers."""
    change.delete()


@router.get("/{name}/versions", response_description="One page of versions.", responses=refusals(400, 401, 404, 503))
def list_prompt_versions(name: NameDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> PromptHistory:
    """List the versions of a name, newest first."""
    service.get(session, owner, name)
    before = read_last_number(page.last_id, 9, "cursor", "versions")
    found = [present(one) for one in repository.list_versions(session, owner, name, before, page.limit)]
    items = found[: page.limit]
    return PromptHistory(items=items, next=encode_cursor(str(items[-1].version)) if len(found) > page.limit else None)


@router.get(
    "/{name}/support-examples",
    response_model=NamedSupportExamples,
    response_description="The support examples of the current version.",
    responses=READ,
)
async def get_prompt_support_examples(
    asked: AskedDep, indexes: IndexesDep, use: UseParameter = None, input: InputParameter = None
) -> Response:
    """Return the support examples that a name says, in order; with `input`, also the demonstrations of this text."""
    found = await run_in_threadpool(asked.read)
    if isinstance(found, Response):
        return found
    pool = None if input is None else await found.answers.fetch_pool(indexes, use)
    shown = await run_in_threadpool(found.answers.show, use, input, pool)
    return asked.answer_with(found, NamedSupportExamples(**dict(shown), **found.about))


@router.get(
    "/{name}/classifier",
    response_model=Classifier,
    response_description="The classifier of the current version.",
    responses={
        **READ,
        200: {**openapi.CLASSIFIER, **sends("ETag")},
        **refusals(400, 401, 404, 503, conflict=_NO_CLASSIFIER),
    },
)
def get_prompt_classifier(asked: AskedDep) -> Response:
    """Return the classifier that a name says: a file that `Classifier.load` of the library reads."""
    return asked.answer(NamedAnswers.get_classifier)


@router.get("/{name}/export", response_class=Response, responses=openapi.exported(READ))
def export_prompt(asked: AskedDep, format: FormatParameter = "json", use: UseParameter = None) -> Response:
    """Return the support examples that a name says as a file that another tool loads; see the route of a selection."""
    with asked.services.database.session_scope() as session:
        found = service.read(asked.services, session, asked.owner, asked.name)
        export = found.answers.prepare_export(use)
        measured = find_measured(session, asked.owner, export.digest, export.source.model, format)
    return answer_export(export, format, asked.if_none_match, measured)


@router.post(
    "/{name}/render",
    response_description="The prompts of each input.",
    responses=refusals(*(400, 401, 404, 413, 415, 422, 503), conflict=_NO_CLASSIFIER),
    openapi_extra=openapi.RENDER_BODY,
)
async def render_named_prompt(
    name: NameDep, body: RenderBodyDep, indexes: IndexesDep, owner: OwnerDep, services: ServicesDep
) -> NamedPrompts:
    """Build the prompts of a name for new inputs, as `POST /selections/{selection_id}/render` does."""

    def read() -> tuple[NamedAnswers, Classifier | None]:
        with services.database.session_scope() as session:
            found = service.read(services, session, owner, name)
        return found, found.get_classifier() if body.prompts == "classifier" else None

    found, classifier = await run_in_threadpool(read)
    pool = await found.answers.fetch_pool(indexes, body.use) if classifier is None else None
    rendered = await run_in_threadpool(found.answers.render, body, classifier, pool)
    return NamedPrompts(**dict(rendered), **found.about)
