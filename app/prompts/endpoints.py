"""Routes of /prompts: what production reads. Decisions are in `service.py`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response, status
from starlette.responses import JSONResponse

from app.answers.finding import answer_known
from app.dependencies import OWNER_ROUTE, OwnerDep, PageDep, ServicesDep, SessionDep
from app.ids import encode_cursor
from app.prompts import service
from app.prompts.finding import PromptFinder
from app.prompts.parameters import READ, ChangeDep, NameDep
from app.prompts.schemas import PromptBody, PromptHistory, PromptPage, PromptVersionOut
from app.prompts.service import present
from app.store import prompts as repository
from app.web.etag import REVALIDATED, KnownEtag, answer_with_etag, version_etag
from app.web.openapi import refusals, sends, takes_json
from app.web.parameters import read_last_number
from app.web.request_body import json_body

router = APIRouter(prefix="/prompts", tags=["prompts"], dependencies=OWNER_ROUTE)

_BODY = takes_json(PromptBody)


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
    """Publish what a selection found as the next version of a prompt, or take up an earlier version again.

    Production reads the prompt by its name and needs no change. A version is a copy: a selection may be deleted
    afterwards.
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
def get_prompt(name: NameDep, owner: OwnerDep, services: ServicesDep, if_none_match: KnownEtag = None) -> Response:
    """Return the current version of a prompt, and how good it is."""
    with services.database.session_scope() as session:
        known = answer_known(PromptFinder(services, owner, name), session, if_none_match, "", "result")
        if known is not None:
            return known
        found = service.get(session, owner, name)
        return answer_with_etag(version_etag(found.version), present(found), REVALIDATED)


@router.delete(
    "/{name}",
    status_code=status.HTTP_204_NO_CONTENT,
    response_class=Response,
    response_description="The name was deleted.",
    responses=refusals(400, 401, 404, 412, 428, 503),
)
def delete_prompt(change: ChangeDep) -> None:
    """Delete a prompt with the contents of all its versions. A new one of this name goes on with the numbers."""
    change.delete()


@router.get("/{name}/versions", response_description="One page of versions.", responses=refusals(400, 401, 404, 503))
def list_prompt_versions(name: NameDep, session: SessionDep, owner: OwnerDep, page: PageDep) -> PromptHistory:
    """List the versions of a name, newest first."""
    service.get(session, owner, name)
    before = read_last_number(page.last_id, 9, "cursor", "versions")
    found = [present(one) for one in repository.list_versions(session, owner, name, before, page.limit)]
    items = found[: page.limit]
    return PromptHistory(items=items, next=encode_cursor(str(items[-1].version)) if len(found) > page.limit else None)
